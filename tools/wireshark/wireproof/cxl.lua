-- Flits of 68 bytes and training sets (wireproof/proto/cxl/wire_format.hpp). No flit has a number.
-- After a RETRY.Ack, the dissector knows which flits the sender has sent before.
return function(common, bytes)
    local codes = {[0x10] = "LLCRD", [0x01] = "RETRY.Idle", [0x11] = "RETRY.Req", [0x21] = "RETRY.Ack",
                   [0x31] = "RETRY.Frame", [0x8C] = "INIT.Param"}
    local made = common.declare("wireproof.cxl", "Wireproof CXL link retry", {
        {"kind", "string", "Kind"},
        {"protocol_id", "uint16", "protocol id", base.HEX},
        {"control", "bool", "control", 8, nil, 0x01},
        {"ak", "bool", "Ak", 8, nil, 0x08},
        {"length", "uint8", "length", base.DEC},
        {"data", "bytes", "data"},
        {"code", "uint8", "LLCTRL, SubType", base.HEX, codes},
        {"acks", "uint8", "Acknowledged flits", base.DEC},
        {"eseq", "uint8", "Eseq", base.DEC},
        {"num_retry", "uint8", "NUM_RETRY", base.DEC},
        {"num_phy_reinit", "uint8", "NUM_PHY_REINIT", base.DEC},
        {"empty", "bool", "Empty", 8, nil, 0x01},
        {"viral", "bool", "Viral", 8, nil, 0x02},
        {"wr_ptr", "uint8", "WrPtr", base.DEC},
        {"num_free_buf", "uint8", "NumFreeBuf", base.DEC},
        {"wrap", "uint8", "Wrap value", base.DEC},
        {"counted", "uint8", "Number by counting", base.DEC},
        {"crc", "uint16", "CRC", base.HEX},
        common.check_field("crc_status", "CRC status"),
        {"fresh", "bool", "Training: the sender has no state of this link", 8, nil, 0x01},
        {"heard", "bool", "Training: the sender has received a training set", 8, nil, 0x02},
        {"done", "bool", "Training: the sender has ended it", 8, nil, 0x04},
        {"down", "bool", "Training: the sender has given the link up", 8, nil, 0x08},
        {"own", "uint8", "Training: own round", base.DEC},
        {"peers", "uint8", "Training: the peer's round", base.DEC},
        {"set_crc", "uint32", "CRC-32C of the training set", base.HEX},
        {"resent_of", "framenum", "Sent before in", base.NONE},
    }, common.rows(common.damage_experts, {
        {"retransmission", "SEQUENCE", "NOTE", "Retransmission"},
        {"retry", "SEQUENCE", "NOTE", "RETRY.Req: the receiver asks for flits again"},
        {"training", "SEQUENCE", "CHAT", "Training"},
    }))
    common.declare_modulus(made)
    local F, E = made.fields, made.experts
    local cxl = {name = "cxl-llr", made = made, counts_frames = true}
    local flit_size, set_size, usual_depth = 68, 8, 128

    local function is_set(raw)
        return #raw == set_size and bytes.u8(raw, 0) == 0xBC and bytes.u8(raw, 1) <= 15 and
            bytes.le(raw, 4, 4) == bytes.crc32c(raw:sub(1, 4))
    end

    local function crc_holds(raw)
        return bytes.le(raw, 66, 2) == bytes.crc16_cxl(raw:sub(3, 66))
    end

    function cxl.recognises(raw)
        return is_set(raw) or #raw == flit_size and raw:sub(1, 2) == "\xD2\xD2" and crc_holds(raw)
    end

    local function show_set(tree, tvb, raw, context, ends)
        tree:add(F.kind, "training"):set_generated()
        for _, key in ipairs({"fresh", "heard", "done", "down"}) do tree:add(F[key], tvb(1, 1)) end
        tree:add(F.own, tvb(2, 1))
        tree:add(F.peers, tvb(3, 1))
        tree:add_le(F.set_crc, tvb(4, 4))
        tree:append_text(", training")
        common.inform(context, "training")
        tree:add_proto_expert_info(E.training, "Training: a replay ends")
        if not ends.follows then return end
        common.once(context, function()
            ends.own.again, ends.peers.again = 0, 0
            if bytes.u8(raw, 1) % 2 == 1 then ends.own.number, ends.own.sent = nil, nil end
            return true
        end)
    end

    -- `ends.missing` flits before this one are not in the capture. The flits of a replay follow each
    -- other, so they belong to it. Nothing is known any more about the numbers of new flits.
    local function pass_over(stream, missing)
        stream.again = math.max((stream.again or 0) - missing, 0)
        stream.number = nil
        stream.sent = {}
    end

    -- The last flits that the sender has sent as new ones leave again.
    local function begin_replay(stream, raw)
        local empty = bytes.u8(raw, 10) % 2 == 1
        local pointer, eseq = bytes.u8(raw, 11), bytes.u8(raw, 12)
        stream.number = eseq
        stream.again = empty and 0 or (pointer - eseq) % (stream.depth or common.modulus(made, usual_depth))
    end

    -- Whether the flit is a retransmission, its number, and the packet that had it before.
    local function follow(stream, kind, raw, ends, packet)
        stream.sent = stream.sent or {}
        if ends.missing > 0 then pass_over(stream, ends.missing) end
        if kind == "RETRY.Ack" then begin_replay(stream, raw) end
        if kind == "INIT.Param" then stream.depth = bytes.u8(raw, 13) + 1 end
        if kind ~= "data" and kind ~= "LLCRD" and kind ~= "INIT.Param" then return {} end
        local result = {again = (stream.again or 0) > 0, counted = stream.number}
        if result.again then
            result.resent_of = stream.sent[#stream.sent - stream.again + 1]
            stream.again = stream.again - 1
        else
            stream.sent[#stream.sent + 1] = packet
        end
        if stream.number then stream.number = (stream.number + 1) % (stream.depth or common.modulus(made, usual_depth)) end
        return result
    end

    local function show_payload(tree, tvb, raw, kind)
        local acks = math.floor(bytes.u8(raw, 2) / 8) % 2 * 8
        if kind == "data" then
            tree:add(F.length, tvb(3, 1))
            local length = bytes.u8(raw, 3)
            if length > 60 then
                common.complain(made, tree, "A message has at most 60 bytes")
            elseif length > 0 then
                tree:add(F.data, tvb(6, length))
            end
        else
            tree:add(F.code, tvb(6, 1))
        end
        if kind == "LLCRD" then acks = acks + bit.band(bytes.u8(raw, 10), 0xF7) end
        if kind == "data" or kind == "LLCRD" then tree:add(F.acks, acks):set_generated() end
        if kind == "RETRY.Req" then
            local word = bytes.le(raw, 12, 2)
            tree:add(F.eseq, tvb(10, 1))
            tree:add(F.num_retry, tvb(12, 1), word % 32)
            tree:add(F.num_phy_reinit, tvb(12, 2), math.floor(word / 32) % 32)
            tree:add_proto_expert_info(E.retry, "The receiver asks for all from " .. bytes.u8(raw, 10) .. " on")
        elseif kind == "RETRY.Ack" then
            tree:add(F.empty, tvb(10, 1))
            tree:add(F.viral, tvb(10, 1))
            tree:add(F.num_retry, tvb(10, 1), math.floor(bytes.u8(raw, 10) / 8))
            tree:add(F.wr_ptr, tvb(11, 1))
            tree:add(F.eseq, tvb(12, 1))
            tree:add(F.num_free_buf, tvb(13, 1))
        elseif kind == "INIT.Param" then
            tree:add(F.wrap, tvb(13, 1))
        end
        return acks
    end

    function cxl.dissect(tvb, context, root, ends)
        local raw = tvb:raw()
        local tree = root:add(made.proto, tvb())
        if is_set(raw) then return show_set(tree, tvb, raw, context, ends) end
        if #raw ~= flit_size then
            tree:add(F.data, tvb())
            common.complain(made, tree, "Neither a flit of 68 bytes nor a training set")
            common.inform(context, "cxl, malformed")
            return
        end
        local kind = "data"
        if bytes.u8(raw, 2) % 2 == 1 then kind = codes[bytes.u8(raw, 6)] or "control" end
        tree:add(F.kind, kind):set_generated()
        tree:add_le(F.protocol_id, tvb(0, 2))
        tree:add(F.control, tvb(2, 1))
        tree:add(F.ak, tvb(2, 1))
        local acks = show_payload(tree, tvb, raw, kind)
        tree:add_le(F.crc, tvb(66, 2))
        local text = kind
        if kind == "RETRY.Req" then text = text .. " " .. bytes.u8(raw, 10) end
        if kind == "RETRY.Ack" then text = text .. " " .. bytes.u8(raw, 12) end
        if acks > 0 then text = text .. " ack " .. acks end
        tree:append_text(", " .. text)
        common.inform(context, text)
        local good = common.once(context, function() return crc_holds(raw) end)
        common.show_check(made, tree, "crc_status", good and 1 or 0, "The CRC is wrong")
        if raw:sub(1, 2) ~= "\xD2\xD2" then
            common.complain(made, tree, "Another protocol id: the receiver takes it for a damaged flit")
            return
        end
        if not good or not ends.follows then return end
        local result = common.once(context, function()
            return follow(ends.own, kind, raw, ends, context.pinfo.number)
        end)
        if result.counted then tree:add(F.counted, result.counted):set_generated() end
        common.show_numbers(made, tree, result, text)
        return result
    end

    return cxl
end
