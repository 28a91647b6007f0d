-- Ethernet frames with LLR preambles, and control ordered sets (wireproof/proto/ue/wire_format.hpp).
-- The order of the halves of byte 1, and of byte 4 of a CtlOS, is the first one of the settings.
return function(common, bytes)
    local types = {[1] = "ACK", [2] = "NACK", [3] = "INIT", [4] = "INIT_ECHO", [0x10] = "CF_UPDATE"}
    local made = common.declare("wireproof.ue", "Wireproof Ultra Ethernet LLR", common.rows({
        {"kind", "string", "Kind"},
        {"begin", "uint8", "First byte", base.HEX, {[0xFB] = "frame", [0x4B] = "control ordered set"}},
        {"number", "uint32", "number", base.DEC},
        {"destination", "ether", "destination"},
        {"source", "ether", "source"},
        {"type", "uint16", "type", base.HEX},
        {"length", "uint16", "length", base.DEC},
        {"data", "bytes", "data"},
        {"pad", "bytes", "pad"},
        {"fcs", "uint32", "FCS", base.HEX},
        common.check_field("fcs_status", "FCS status"),
        {"ctl_type", "uint8", "Type of the control ordered set", base.HEX, types},
        {"ack", "uint32", "Number of the control ordered set", base.DEC},
        {"init_data", "uint16", "init_data", base.HEX},
        {"crc", "uint32", "CRC of the control ordered set", base.HEX},
        common.check_field("crc_status", "CRC status"),
    }, common.resend_fields), common.rows(common.resend_experts, common.damage_experts, {
        {"nack", "SEQUENCE", "NOTE", "The receiver asks for frames again"},
        {"life", "SEQUENCE", "CHAT", "A new life of the sender begins"},
    }))
    common.declare_modulus(made)
    local F, E = made.fields, made.experts
    local ue = {name = "ue-llr", made = made, counts_frames = false}
    local head_size, overhead, circle = 24, 28, 1048576
    -- A control ordered set in a datagram ends with a CRC-32, and the FCS of a frame in a datagram also
    -- covers the preamble (LLR-38). On a line neither is so.
    local ctl_size, checked_size = 8, 12

    local function is_preamble(raw)
        return bytes.u8(raw, 0) == 0xFB and raw:sub(5, 8) == "\x55\x55\x55\xD5"
    end

    local function is_ctl(raw)
        if #raw ~= ctl_size and #raw ~= checked_size or bytes.u8(raw, 0) ~= 0x4B or bytes.u8(raw, 7) ~= 0 then return false end
        local type = types[bytes.u8(raw, 1)]
        return type == "CF_UPDATE" or type ~= nil and bytes.u8(raw, 4) % 16 == 6
    end

    function ue.recognises(raw)
        return is_ctl(raw) or #raw >= overhead and is_preamble(raw)
    end

    local function show_ctl(tree, tvb, raw, context, ends)
        local kind = types[bytes.u8(raw, 1)]
        local number = bytes.be(raw, 2, 2) * 16 + math.floor(bytes.u8(raw, 4) / 16)
        tree:add(F.kind, kind):set_generated()
        tree:add(F.begin, tvb(0, 1))
        tree:add(F.ctl_type, tvb(1, 1))
        if #raw == checked_size then
            tree:add_le(F.crc, tvb(ctl_size, 4))
            local status = common.once(context, function()
                return bytes.le(raw, ctl_size, 4) == bytes.crc32(raw:sub(1, ctl_size)) and 1 or 0
            end)
            common.show_check(made, tree, "crc_status", status, "The CRC is wrong")
        end
        if kind == "CF_UPDATE" then
            common.inform(context, kind)
            return
        end
        tree:add(F.ack, tvb(2, 3), number)
        tree:append_text(", " .. kind .. " " .. number)
        common.inform(context, kind .. " " .. number)
        local data = bytes.le(raw, 5, 2)
        if kind ~= "INIT" and kind ~= "INIT_ECHO" then
            if data ~= 0 then common.complain(made, tree, "Only INIT and its echo have init_data") end
        else
            tree:add_le(F.init_data, tvb(5, 2))
        end
        if kind == "NACK" then
            tree:add_proto_expert_info(E.nack, "NACK: the receiver has all up to " .. number)
        elseif kind == "INIT" and ends.follows then
            local new = common.once(context, function()
                local stream = ends.own
                if stream.init == data then return false end
                stream.init = data
                common.forget_numbers(stream)
                stream.high = number
                return true
            end)
            if new then tree:add_proto_expert_info(E.life, "Numbers begin with " .. number) end
        end
    end

    local function show_frame(tree, tvb, raw, context, ends)
        local plain = raw:sub(2, 4) == "\x55\x55\x55"
        local number = math.floor(bytes.u8(raw, 1) / 16) * 65536 + bytes.be(raw, 2, 2)
        local kind = plain and "PLAIN" or "FRAME"
        local text = plain and kind or kind .. " " .. number
        tree:add(F.kind, kind):set_generated()
        tree:add(F.begin, tvb(0, 1))
        if not plain then
            tree:add(F.number, tvb(1, 3), number)
            if bytes.u8(raw, 1) % 16 ~= 7 then common.complain(made, tree, "The mark in the preamble is wrong") end
        end
        tree:add(F.destination, tvb(8, 6))
        tree:add(F.source, tvb(14, 6))
        tree:add(F.type, tvb(20, 2))
        tree:add(F.length, tvb(22, 2))
        local length, behind = bytes.be(raw, 22, 2), #raw - 4
        if length > behind - head_size then
            common.complain(made, tree, "The length contradicts the frame")
            length = behind - head_size
        end
        if length > 0 then tree:add(F.data, tvb(head_size, length)) end
        if behind > head_size + length then tree:add(F.pad, tvb(head_size + length, behind - head_size - length)) end
        tree:add_le(F.fcs, tvb(behind, 4))
        tree:append_text(", " .. text)
        common.inform(context, text)
        local status = common.once(context, function()
            local fcs = bytes.le(raw, behind, 4)
            return (fcs == bytes.crc32(raw:sub(9, behind)) or fcs == bytes.crc32(raw:sub(1, behind))) and 1 or 0
        end)
        common.show_check(made, tree, "fcs_status", status, "The FCS is wrong")
        -- A sender may poison the FCS of a frame. The number is not under the FCS.
        if plain or not ends.follows then return end
        local result = common.once(context, function()
            return common.see_number(ends.own, number, common.modulus(made, circle), context.pinfo.number)
        end)
        common.show_numbers(made, tree, result, text)
        return result
    end

    function ue.dissect(tvb, context, root, ends)
        local raw = tvb:raw()
        local tree = root:add(made.proto, tvb())
        if is_ctl(raw) then return show_ctl(tree, tvb, raw, context, ends) end
        if #raw >= overhead and is_preamble(raw) then return show_frame(tree, tvb, raw, context, ends) end
        tree:add(F.data, tvb())
        common.complain(made, tree, "Neither a frame nor a control ordered set")
        common.inform(context, "ue, malformed")
    end

    return ue
end
