-- Flits of PCI Express 6 and 7, CXL 3 and UCIe (wireproof/proto/flit/wire_format.hpp). Most flits
-- have no number: the dissector counts, as the receiver does.
return function(common, bytes)
    local formats = {[0] = "pcie", [1] = "cxl", [2] = "ucie_68", [3] = "ucie_256", [4] = "cxl_halves"}
    local commands = {[0] = "explicit number", [1] = "Ack", [2] = "standard Nak", [3] = "selective Nak"}
    local made = common.declare("wireproof.flit", "Wireproof flit", common.rows({
        {"kind", "string", "Kind"},
        {"format", "uint8", "Format", base.DEC, formats},
        {"payload", "bool", "Payload", 8, nil, 0x40},
        {"prior_payload", "bool", "The flit before had payload", 8, nil, 0x20},
        {"command", "uint8", "command", base.DEC, commands},
        {"number", "uint16", "number", base.DEC},
        {"ack", "uint16", "Number of the Ack or Nak", base.DEC},
        {"counted", "uint16", "Number by counting", base.DEC},
        {"length", "uint8", "length", base.DEC},
        {"data", "bytes", "data"},
        {"crc", "bytes", "CRC"},
        common.check_field("crc_status", "CRC status"),
        {"ecc", "bytes", "ECC (not checked)"},
    }, common.resend_fields), common.rows(common.resend_experts, common.damage_experts, {
        {"nak", "SEQUENCE", "NOTE", "The receiver asks for flits again"},
    }))
    common.declare_modulus(made)
    local F, E = made.fields, made.experts
    local flit = {name = "flit", made = made, counts_frames = true}
    local shapes = {
        [0] = {code = 0, size = 256, data = 0, data_end = 236, header = 236, usage = true, numbers = 1023},
        [1] = {code = 1, size = 256, data = 2, data_end = 242, header = 0, usage = true, numbers = 1023},
        [2] = {code = 2, size = 68, data = 2, data_end = 66, header = 0, usage = false, numbers = 255},
        [3] = {code = 3, size = 256, data = 2, data_end = 242, header = 0, usage = false, numbers = 255},
        -- The data go on in the second half.
        [4] = {code = 4, size = 256, data = 2, data_end = 122, rest = 128, rest_size = 116, header = 0, usage = true,
               numbers = 1023},
    }

    local function wide_crc_holds(raw)
        return raw:sub(243, 250) == bytes.flit_crc(raw:sub(1, 242))
    end
    local function half_crcs_hold(raw)
        return raw:sub(123, 128) == bytes.half_crc(raw:sub(1, 122)) and
               raw:sub(251, 256) == bytes.half_crc(raw:sub(129, 244))
    end
    local function ucie_crc_holds(raw, shape)
        if shape.size == 68 then return bytes.le(raw, 66, 2) == bytes.crc16_ucie(raw:sub(1, 66)) end
        return bytes.le(raw, 252, 2) == bytes.crc16_ucie(raw:sub(1, 128)) and
               bytes.le(raw, 254, 2) == bytes.crc16_ucie(raw:sub(129, 252))
    end

    -- The flits of PCI Express and CXL have the same CRC. In the last six bytes of the data, CXL has
    -- the length of the message last. PCI Express has its header first, and zeros after it.
    local function is_cxl(raw)
        return not bytes.zeros(raw, 238, 242) or bytes.zeros(raw, 236, 242) and not bytes.zeros(raw, 0, 2)
    end

    -- Returns the shape, and whether the CRC is right. A damaged flit has the format of the others.
    local function shape_of(raw, usual)
        if #raw == 68 then return shapes[2], ucie_crc_holds(raw, shapes[2]) end
        if wide_crc_holds(raw) then return is_cxl(raw) and shapes[1] or shapes[0], true end
        if half_crcs_hold(raw) then return shapes[4], true end
        if ucie_crc_holds(raw, shapes[3]) then return shapes[3], true end
        return shapes[usual or 0], false
    end

    function flit.recognises(raw)
        if #raw ~= 68 and #raw ~= 256 then return false end
        local _, good = shape_of(raw)
        return good
    end

    local function read(raw, shape)
        local first, second = bytes.u8(raw, shape.header), bytes.u8(raw, shape.header + 1)
        local header = {reserved = first >= 128, payload = math.floor(first / 64) % 2 == 1}
        if shape.usage then
            header.command = math.floor(first / 4) % 4
            header.number = first % 4 * 256 + second
        else
            header.command = math.floor(second / 16) % 4
            header.number = first % 16 * 16 + second % 16
            header.reserved = header.reserved or header.command == 3
        end
        header.idle = not header.payload and header.command == 0 and header.number == 0
        local suffix = ({[2] = "+Nak", [3] = "+SNak"})[header.command] or ""
        header.kind = header.idle and "IDLE" or (header.payload and "payload" or "NOP") .. suffix
        return header
    end

    -- So many flits are not in the capture. The flit after them says whether the last of them had
    -- payload, and the others are taken to be alike. The next explicit number ends the guess.
    local function guess(stream, header, shape, missing, modulus)
        if not stream.counted or shape.usage and not header.prior_payload then return end
        stream.counted = (stream.counted + missing) % modulus
        if stream.high and common.ahead(stream.counted + 1, stream.high, modulus) > 0 then
            stream.high = (stream.counted + 1) % modulus
        end
    end

    -- An explicit NOP names the payload flit that left last as a new one.
    local function on_explicit_nop(stream, header, modulus)
        local steps = stream.high and common.ahead(header.number, stream.high, modulus) or 0
        stream.counted = header.number - 1
        stream.high = header.number % modulus
        return {missing = math.max(steps, 0)}
    end

    -- Numbers are 1 to the largest; here they count from 0.
    local function follow(stream, header, shape, ends, packet)
        local modulus = common.modulus(made, shape.numbers)
        if ends.missing > 0 then guess(stream, header, shape, ends.missing, modulus) end
        local explicit = header.command == 0
        -- The first Ack of a link that begins without a handshake names the number before the first.
        if ends.from_begin and not stream.begun and header.command == 1 then
            stream.counted = header.number - 1
        end
        stream.begun = true
        if header.idle or explicit and header.payload and header.number == 0 then return {} end
        if not header.payload then
            return explicit and on_explicit_nop(stream, header, modulus) or {}
        end
        local number
        if explicit then
            number = header.number - 1
        elseif stream.counted then
            number = (stream.counted + 1) % modulus
        else
            return {}
        end
        stream.counted = number
        local result = common.see_number(stream, number, modulus, packet)
        result.counted = number + 1
        return result
    end

    function flit.dissect(tvb, context, root, ends)
        local raw = tvb:raw()
        local tree = root:add(made.proto, tvb())
        if #raw ~= 68 and #raw ~= 256 then
            tree:add(F.data, tvb())
            common.complain(made, tree, "A flit has 68 or 256 bytes")
            common.inform(context, "flit, malformed")
            return
        end
        local found = common.once(context, function()
            local shape, good = shape_of(raw, ends.own.format)
            if good then ends.own.format = shape.code end
            return {shape = shape, good = good}
        end)
        local shape = found.shape
        local header = read(raw, shape)
        local at = shape.header
        tree:add(F.kind, header.kind):set_generated()
        tree:add(F.format, shape.code):set_generated()
        tree:add(F.payload, tvb(at, 1))
        if shape.usage then tree:add(F.prior_payload, tvb(at, 1)) end
        tree:add(F.command, tvb(at, 2), header.command)
        local text = header.kind
        if header.command == 0 then
            tree:add(F.number, tvb(at, 2), header.number)
            if not header.idle then text = text .. " " .. header.number end
        else
            tree:add(F.ack, tvb(at, 2), header.number)
            text = text .. " ack " .. header.number
        end
        tree:add(F.length, tvb(shape.data_end - 1, 1))
        local length = bytes.u8(raw, shape.data_end - 1)
        local first = math.min(length, shape.data_end - shape.data - 1)
        if length > first + (shape.rest_size or 0) then
            common.complain(made, tree, "The length contradicts the flit")
        elseif length > 0 then
            tree:add(F.data, tvb(shape.data, first))
            if length > first then tree:add(F.data, tvb(shape.rest, length - first)) end
        end
        if shape.rest then
            tree:add(F.crc, tvb(122, 6))
            tree:add(F.ecc, tvb(244, 6))
            tree:add(F.crc, tvb(250, 6))
        elseif shape.usage then
            tree:add(F.crc, tvb(242, 8))
            tree:add(F.ecc, tvb(250, 6))
        else
            tree:add(F.crc, shape.size == 68 and tvb(66, 2) or tvb(252, 4))
        end
        tree:append_text(", " .. text)
        common.inform(context, text)
        common.show_check(made, tree, "crc_status", found.good and 1 or 0, "The CRC is wrong, before correction")
        if header.reserved then common.complain(made, tree, "A reserved usage or command") end
        if not found.good or header.reserved or not ends.follows then return end
        if header.command >= 2 then
            tree:add_proto_expert_info(E.nak, commands[header.command] .. " after " .. header.number)
        end
        local result = common.once(context, function()
            return follow(ends.own, header, shape, ends, context.pinfo.number)
        end)
        if result.counted then tree:add(F.counted, result.counted):set_generated() end
        common.show_numbers(made, tree, result, text)
        return result
    end

    return flit
end
