-- Micropackets of HIPPI-6400: 32 data bytes and the control word (wireproof/proto/hippi/README.md).
return function(common, bytes)
    local types = {[0] = "null", [1] = "header", [2] = "data", [3] = "credit", [4] = "admin", [5] = "status null",
                   [8] = "init", [9] = "init-ack", [10] = "reset", [11] = "reset-ack"}
    local made = common.declare("wireproof.hippi", "Wireproof HIPPI-6400", common.rows({
        {"data", "bytes", "data"},
        {"vc", "uint8", "VC", base.DEC, nil, 0xC0},
        {"type", "uint8", "TYPE", base.DEC, types, 0x3C},
        {"tail", "bool", "TAIL", 8, nil, 0x02},
        {"error", "bool", "ERROR", 8, nil, 0x01},
        {"vcr", "uint8", "VCR", base.DEC, nil, 0xC0},
        {"cr", "uint8", "CR", base.DEC, nil, 0x3F},
        {"tseq", "uint8", "TSEQ", base.DEC},
        {"rseq", "uint8", "RSEQ", base.DEC},
        {"ecrc", "uint16", "ECRC (not checked)", base.HEX},
        {"lcrc", "uint16", "LCRC", base.HEX},
        common.check_field("lcrc_status", "LCRC status"),
        {"length", "uint64", "Bytes of the message", base.DEC},
        {"epoch", "uint64", "epoch", base.HEX},
        {"echo", "uint64", "echo", base.HEX},
        {"terms", "uint64", "terms", base.HEX},
        {"credits", "uint16", "Credits of a channel", base.DEC},
    }, common.resend_fields), common.rows(common.resend_experts, common.damage_experts, {
        {"notice", "SEQUENCE", "NOTE", "Status null: the same RSEQ twice asks for units again"},
        {"bad_message", "SEQUENCE", "WARN", "ERROR: the message was bad before it came to this link"},
    }))
    common.declare_modulus(made)
    local F, E = made.fields, made.experts
    local hippi = {name = "hippi6400", made = made, counts_frames = false}
    local unit_size, control_at, none = 40, 32, 255

    local function lcrc(raw)
        return bytes.crc16_iba(raw:sub(1, 38), "\0\0")
    end

    function hippi.recognises(raw)
        return #raw == unit_size and bytes.be(raw, 38, 2) == lcrc(raw)
    end

    local function show_body(tree, tvb, raw, type)
        if type == 1 then
            tree:add_le(F.length, tvb(0, 8))
            if not bytes.zeros(raw, 8, control_at) then
                common.complain(made, tree, "A header unit has zeros after the length")
            end
        elseif type >= 8 then
            tree:add_le(F.epoch, tvb(0, 8))
            tree:add_le(F.echo, tvb(8, 8))
            tree:add_le(F.terms, tvb(16, 8))
            for channel = 0, 3 do tree:add_le(F.credits, tvb(24 + 2 * channel, 2)) end
        else
            tree:add(F.data, tvb(0, control_at))
        end
    end

    -- A start-up unit of another life: the sender numbers its units anew.
    local function begin_life(stream, epoch)
        if stream.epoch == epoch then return end
        stream.epoch = epoch
        common.forget_numbers(stream)
    end

    function hippi.dissect(tvb, context, root, ends)
        local raw = tvb:raw()
        local tree = root:add(made.proto, tvb())
        if #raw ~= unit_size then
            tree:add(F.data, tvb())
            common.complain(made, tree, "A micropacket has 40 bytes")
            common.inform(context, "hippi, malformed")
            return
        end
        local type = math.floor(bytes.u8(raw, 32) / 4) % 16
        local tseq, rseq = bytes.u8(raw, 34), bytes.u8(raw, 35)
        local numbered = type >= 1 and type <= 4
        if types[type] then show_body(tree, tvb, raw, type) end
        tree:add(F.vc, tvb(32, 1))
        tree:add(F.type, tvb(32, 1))
        tree:add(F.tail, tvb(32, 1))
        tree:add(F.error, tvb(32, 1))
        tree:add(F.vcr, tvb(33, 1))
        tree:add(F.cr, tvb(33, 1))
        tree:add(F.tseq, tvb(34, 1))
        tree:add(F.rseq, tvb(35, 1))
        tree:add(F.ecrc, tvb(36, 2))
        tree:add(F.lcrc, tvb(38, 2))
        local text = types[type] or "frame"
        if tseq ~= none then text = text .. " " .. tseq end
        if rseq ~= none then text = text .. " rseq " .. rseq end
        tree:append_text(", " .. text)
        common.inform(context, text)
        local good = bytes.be(raw, 38, 2) == lcrc(raw)
        common.show_check(made, tree, "lcrc_status", good and 1 or 0, "The LCRC is wrong")
        if not types[type] then common.complain(made, tree, "Unknown TYPE") end
        if types[type] and numbered ~= (tseq ~= none) then
            common.complain(made, tree, "Units that the sender keeps have a number, and others have none")
        end
        if not good or not types[type] then return end
        if type == 5 then tree:add_proto_expert_info(E.notice, "The receiver expects " .. rseq) end
        if numbered and bytes.u8(raw, 32) % 2 == 1 then
            tree:add_proto_expert_info(E.bad_message, "The message was bad before it came to this link")
        end
        if not ends.follows then return end
        if type >= 8 then
            common.once(context, function()
                begin_life(ends.own, bytes.name(raw, 0, 8))
                return true
            end)
        elseif numbered and tseq ~= none then
            local result = common.once(context, function()
                return common.see_number(ends.own, tseq, common.modulus(made, 255), context.pinfo.number)
            end)
            common.show_numbers(made, tree, result, types[type] .. " " .. tseq)
            return result
        end
    end

    return hippi
end
