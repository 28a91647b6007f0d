-- TLPs and DLLPs with their framing symbols (wireproof/proto/pcie/wire_format.hpp).
return function(common, bytes)
    local types = {[0x60] = "memory write", [0x7B] = "deferrable memory write"}
    local dllps = {[0x00] = "Ack", [0x10] = "Nak", [0x40] = "InitFC1-P", [0x50] = "InitFC1-NP", [0x60] = "InitFC1-Cpl",
                   [0xC0] = "InitFC2-P", [0xD0] = "InitFC2-NP", [0xE0] = "InitFC2-Cpl",
                   [0x80] = "UpdateFC-P", [0x90] = "UpdateFC-NP", [0xA0] = "UpdateFC-Cpl"}
    local symbols = {[0xFB] = "STP", [0x5C] = "SDP", [0xFD] = "END", [0xFE] = "EDB"}
    local made = common.declare("wireproof.pcie", "Wireproof PCI Express", common.rows({
        {"kind", "string", "Kind"},
        {"begin", "uint8", "First symbol", base.HEX, symbols},
        {"number", "uint16", "number", base.DEC, nil, 0x0FFF},
        {"type", "uint8", "Fmt and Type", base.HEX, types},
        {"td", "bool", "TD: an ECRC follows", 8, nil, 0x80},
        {"words", "uint16", "Length in double words", base.DEC, nil, 0x03FF},
        {"enables", "uint8", "Last and first byte enables", base.HEX},
        {"length", "uint32", "Bytes of the message", base.DEC},
        {"data", "bytes", "data"},
        {"pad", "bytes", "pad"},
        {"ecrc", "uint32", "ECRC", base.HEX},
        common.check_field("ecrc_status", "ECRC status"),
        {"lcrc", "uint32", "LCRC", base.HEX},
        common.check_field("lcrc_status", "LCRC status"),
        {"end", "uint8", "Last symbol", base.HEX, symbols},
        {"dllp", "uint8", "DLLP type", base.HEX, dllps},
        {"ack", "uint16", "Number of the Ack or Nak", base.DEC, nil, 0x0FFF},
        {"header_credits", "uint32", "Header credits", base.DEC, nil, 0x3FC000},
        {"data_credits", "uint16", "Data credits", base.DEC, nil, 0x0FFF},
        {"crc", "uint16", "CRC", base.HEX},
        common.check_field("crc_status", "CRC status"),
    }, common.resend_fields), common.rows(common.resend_experts, common.damage_experts, {
        {"nak", "SEQUENCE", "NOTE", "The receiver asks for TLPs again"},
        {"nullified", "SEQUENCE", "NOTE", "The sender nullified the TLP"},
    }))
    common.declare_modulus(made)
    local F, E = made.fields, made.experts
    local pcie = {name = "pcie", made = made, counts_frames = false}
    local head_size, tail_size, dllp_size = 19, 9, 8

    local function dllp_crc(raw)
        return bytes.crc16_iba(raw:sub(2, 5))
    end

    local function lcrc(raw)
        return bytes.crc32(raw:sub(2, #raw - 5))
    end

    local function is_nullified(raw)
        return bytes.u8(raw, #raw - 1) == 0xFE and bytes.le(raw, #raw - 5, 4) == 4294967295 - lcrc(raw)
    end

    function pcie.recognises(raw)
        if #raw == dllp_size then
            return bytes.u8(raw, 0) == 0x5C and bytes.u8(raw, 7) == 0xFD and bytes.le(raw, 5, 2) == dllp_crc(raw)
        end
        if #raw < head_size + tail_size or bytes.u8(raw, 0) ~= 0xFB then return false end
        return is_nullified(raw) or bytes.u8(raw, #raw - 1) == 0xFD and bytes.le(raw, #raw - 5, 4) == lcrc(raw)
    end

    -- Bits that may change on the way count as ones: the lowest one of Type, and EP.
    local function ecrc(raw)
        local function with(octet, bits)
            return string.char(bit.bor(octet, bits))
        end
        return bytes.crc32(with(bytes.u8(raw, 3), 0x01), raw:sub(5, 5), with(bytes.u8(raw, 5), 0x40),
                           raw:sub(7, #raw - tail_size))
    end

    local enabled = {[0] = 0, [1] = 1, [3] = 2, [7] = 3, [15] = 4}

    -- The bytes of the message, from the length in double words and the byte enables.
    local function length_of(raw)
        local words = bytes.be(raw, 5, 2) % 1024
        if words == 0 then words = 1024 end
        local first, last = enabled[bytes.u8(raw, 10) % 16], enabled[math.floor(bytes.u8(raw, 10) / 16)]
        if not types[bytes.u8(raw, 3)] or not first or not last then return nil end
        if words == 1 then return last == 0 and first or nil end
        return first == 4 and last > 0 and 4 * (words - 1) + last or nil
    end

    local function show_dllp(tree, tvb, raw, context, ends)
        local kind = dllps[bytes.u8(raw, 1)] or "DLLP"
        tree:add(F.kind, kind):set_generated()
        tree:add(F.begin, tvb(0, 1))
        tree:add(F.dllp, tvb(1, 1))
        local text = kind
        if kind == "Ack" or kind == "Nak" then
            tree:add(F.ack, tvb(3, 2))
            text = kind .. " " .. bytes.be(raw, 3, 2) % 4096
        elseif kind ~= "DLLP" then
            tree:add(F.header_credits, tvb(2, 3))
            tree:add(F.data_credits, tvb(3, 2))
        end
        tree:add_le(F.crc, tvb(5, 2))
        tree:add(F["end"], tvb(7, 1))
        tree:append_text(", " .. text)
        common.inform(context, text)
        if bytes.u8(raw, 7) ~= 0xFD then common.complain(made, tree, "A DLLP ends with END") end
        local good = bytes.le(raw, 5, 2) == dllp_crc(raw)
        common.show_check(made, tree, "crc_status", good and 1 or 0, "The CRC is wrong")
        if not good then return end
        if kind == "Nak" then tree:add_proto_expert_info(E.nak, "Nak: the receiver has all up to " ..
                                                         bytes.be(raw, 3, 2) % 4096) end
        -- An end that begins sends InitFC1, and numbers its TLPs anew.
        if kind:sub(1, 7) == "InitFC1" and ends.follows then
            common.once(context, function()
                common.forget_numbers(ends.own)
                return true
            end)
        end
    end

    local function show_tlp(tree, tvb, raw, context, ends)
        local number = bytes.be(raw, 1, 2) % 4096
        local last = bytes.u8(raw, #raw - 1)
        local kind = last == 0xFE and "nullified TLP" or "TLP"
        local behind = #raw - tail_size
        tree:add(F.kind, kind):set_generated()
        tree:add(F.begin, tvb(0, 1))
        tree:add(F.number, tvb(1, 2))
        tree:add(F.type, tvb(3, 1))
        tree:add(F.td, tvb(5, 1))
        tree:add(F.words, tvb(5, 2))
        tree:add(F.enables, tvb(10, 1))
        local length = length_of(raw)
        if length and length <= behind - head_size then
            tree:add(F.length, length):set_generated()
            if length > 0 then tree:add(F.data, tvb(head_size, length)) end
            if behind > head_size + length then
                tree:add(F.pad, tvb(head_size + length, behind - head_size - length))
            end
        else
            if behind > head_size then tree:add(F.data, tvb(head_size, behind - head_size)) end
            common.complain(made, tree, "The header contradicts the frame")
        end
        tree:add_le(F.ecrc, tvb(behind, 4))
        tree:add_le(F.lcrc, tvb(behind + 4, 4))
        tree:add(F["end"], tvb(#raw - 1, 1))
        tree:append_text(", " .. kind .. " " .. number)
        common.inform(context, kind .. " " .. number)
        local checks = common.once(context, function()
            local null = is_nullified(raw)
            local good = bytes.le(raw, behind + 4, 4) == lcrc(raw) and last == 0xFD
            return {null = null, lcrc = (good or null) and 1 or 0,
                    ecrc = bytes.le(raw, behind, 4) == ecrc(raw) and 1 or 0}
        end)
        common.show_check(made, tree, "lcrc_status", checks.lcrc, "The LCRC or the last symbol is wrong")
        if checks.lcrc == 0 then
            tree:add(F.ecrc_status, checks.ecrc):set_generated()
            return
        end
        common.show_check(made, tree, "ecrc_status", checks.ecrc, "The ECRC is wrong")
        if checks.null then
            tree:add_proto_expert_info(E.nullified, "Nullified: the receiver ignores it")
            return
        end
        if not ends.follows then return end
        local result = common.once(context, function()
            return common.see_number(ends.own, number, common.modulus(made, 4096), context.pinfo.number)
        end)
        common.show_numbers(made, tree, result, kind .. " " .. number)
        return result
    end

    function pcie.dissect(tvb, context, root, ends)
        local raw = tvb:raw()
        local tree = root:add(made.proto, tvb())
        if bytes.u8(raw, 0) == 0x5C and #raw == dllp_size then return show_dllp(tree, tvb, raw, context, ends) end
        if bytes.u8(raw, 0) == 0xFB and #raw >= head_size + tail_size then
            return show_tlp(tree, tvb, raw, context, ends)
        end
        tree:add(F.data, tvb())
        common.complain(made, tree, "Neither a TLP nor a DLLP")
        common.inform(context, "pcie, malformed")
    end

    return pcie
end
