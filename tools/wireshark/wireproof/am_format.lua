-- The packets of SP Active Messages: the fields, the header in its two widths, and where one packet
-- of a super-packet ends. Names and places are those of wireproof/proto/am/README.md.
return function(common, bytes)
    local format = {}

    format.kinds = {[1] = "REQ", [2] = "REP", [3] = "CHUNK", [4] = "OPEN", [5] = "GET_REQ", [6] = "ACK",
                    [7] = "NACK", [8] = "KEEPALIVE", [9] = "HELLO", [10] = "BUNDLE", [11] = "UNKNOWN"}
    local REQ, REP, CHUNK, OPEN, GET_REQ, ACK, NACK, KEEPALIVE, HELLO, BUNDLE, UNKNOWN =
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    format.numbered = {[REQ] = true, [REP] = true, [CHUNK] = true, [OPEN] = true, [GET_REQ] = true,
                       [BUNDLE] = true}
    -- Of each kind, the channels that carry it: 1 request, 2 reply, 3 both.
    local channels = {[REQ] = 1, [REP] = 2, [CHUNK] = 3, [OPEN] = 1, [GET_REQ] = 1, [ACK] = 1, [NACK] = 3,
                      [KEEPALIVE] = 3, [HELLO] = 1, [BUNDLE] = 3, [UNKNOWN] = 1}

    local layouts = {[0] = "ethernet", [1] = "sp2"}
    local channel_names = {[0] = "request", [1] = "reply"}
    local ends = {[0] = "not known", [1] = "silent", [2] = "unanswered"}
    local refused = {[1] = "handler", [2] = "store", [3] = "get", [4] = "note"}
    local reasons = {[0] = "none", [1] = "no handler", [2] = "forbidden"}

    format.made = common.declare("wireproof.am", "Wireproof SP Active Messages", common.rows({
        {"layout", "uint8", "Layout", base.DEC, layouts},
        {"dst", "uint16", "dst", base.DEC},
        {"src", "uint16", "src", base.DEC},
        {"kind", "uint8", "kind", base.DEC, format.kinds, 0x0F},
        {"channel", "uint8", "channel", base.DEC, channel_names, 0x10},
        {"in_place", "bool", "no chunks follow", 8, nil, 0x20},
        {"route", "uint8", "route", base.DEC, nil, 0xC0},
        {"round", "uint8", "round", base.DEC},
        {"count", "uint16", "count", base.DEC},
        {"cookie", "uint64", "cookie", base.HEX},
        {"number", "uint32", "number", base.DEC},
        {"ack_request", "uint32", "ack of the request channel", base.DEC},
        {"ack_reply", "uint32", "ack of the reply channel", base.DEC},
        {"id", "uint32", "id", base.DEC},
        {"offset", "uint64", "offset", base.DEC},
        {"checksum", "uint32", "checksum", base.HEX},
        common.check_field("checksum_status", "Checksum status"),
        {"filler", "uint16", "filler", base.DEC},
        {"data", "bytes", "data"},
        {"data_length", "uint32", "Bytes of data", base.DEC},
        {"address", "uint64", "address", base.HEX},
        {"total", "uint64", "total", base.DEC},
        {"handler", "uint32", "handler", base.DEC},
        {"argument", "uint32", "argument", base.HEX},
        {"message_handler", "uint16", "Handler of a message of the bundle", base.DEC},
        {"message_length", "uint16", "Bytes of a message of the bundle", base.DEC},
        {"refused_what", "uint32", "refused", base.DEC, refused},
        {"refused_id", "uint32", "refused handler, transfer or number", base.DEC},
        {"refused_reason", "uint32", "reason", base.DEC, reasons},
        {"nack_overrun", "bool", "the host had no room for some frames", 16, nil, 0x0001},
        {"nack_refuses", "bool", "it arrived, but there is no room for it yet", 16, nil, 0x0002},
        {"nack_marks", "uint16", "packets with the mark of a router", base.DEC, nil, 0xFFFC},
        {"nack_end", "uint32", "end", base.DEC},
        {"nack_reach", "uint32", "reach", base.DEC},
        {"nack_map", "bytes", "map"},
        {"nack_lost", "uint32", "Packets before end without a bit", base.DEC},
        {"job", "uint64", "job", base.HEX},
        {"nonce", "uint64", "own nonce", base.HEX},
        {"echo", "uint64", "echo", base.HEX},
        {"terms", "uint64", "terms", base.HEX},
        {"ended", "uint16", "Why the session ended", base.DEC, ends},
        {"acks_frame", "framenum", "Acknowledges the packet in", base.NONE, frametype.ACK},
        {"ack_rtt", "relative_time", "Time since that packet"},
        {"response_to", "framenum", "Answers the packet in", base.NONE, frametype.REQUEST},
        {"response_time", "relative_time", "Time since the question"},
    }, common.resend_fields), common.rows(common.resend_experts, common.damage_experts, {
        {"duplicate", "SEQUENCE", "NOTE", "The same packet again, in the same round"},
        {"out_of_order", "SEQUENCE", "NOTE", "Late"},
        {"duplicate_ack", "SEQUENCE", "NOTE", "Duplicate acknowledgement"},
        {"nack", "SEQUENCE", "NOTE", "The receiver misses packets"},
        {"keepalive", "SEQUENCE", "CHAT", "The sender asks what has arrived"},
        {"leaves", "SEQUENCE", "CHAT", "A node leaves"},
        {"refusal", "RESPONSE_CODE", "WARN", "Refused"},
        {"unknown", "RESPONSE_CODE", "WARN", "The sender does not have this session"},
    }))

    common.declare_modulus(format.made)

    -- Places of the fields whose places differ.
    local ethernet = {size = 48, checksum = 40, number = {16, 4}, ack_request = {20, 4}, ack_reply = {24, 4},
                      id = {28, 4}, offset = {32, 8}, code = 0}
    local sp2 = {size = 32, checksum = 28, number = {16, 2}, ack_request = {18, 2}, ack_reply = {20, 2},
                 id = {22, 2}, offset = {24, 4}, code = 1}
    format.layouts = {ethernet, sp2}

    -- Returns the header, or nothing and the reason if no sender writes these bytes.
    function format.read(raw, layout)
        if #raw < layout.size then return nil, "shorter than a header" end
        local first = bytes.u8(raw, 4)
        local header = {layout = layout, kind = first % 16, channel = math.floor(first / 16) % 2,
                        in_place = math.floor(first / 32) % 2 == 1, round = bytes.u8(raw, 5),
                        count = bytes.le(raw, 6, 2), cookie = bytes.name(raw, 8, 8), filler = 0}
        for _, key in ipairs({"number", "ack_request", "ack_reply", "id", "offset"}) do
            header[key] = bytes.le(raw, layout[key][1], layout[key][2])
        end
        header.acks = {[0] = header.ack_request, [1] = header.ack_reply}
        header.modulus = common.modulus(format.made, 256 ^ layout.number[2])
        local carried = channels[header.kind]
        if not carried then return nil, "unknown kind" end
        if carried ~= 3 and carried ~= header.channel + 1 then return nil, "a channel that this kind does not have" end
        if header.in_place and header.kind ~= OPEN then return nil, "only an OPEN may be in place" end
        if (header.cookie == "0000000000000000") ~= (header.kind == HELLO) then
            return nil, "cookie 0 is that of HELLO and of nothing else"
        end
        if layout == ethernet then
            header.filler = bytes.le(raw, 44, 2)
            if bytes.le(raw, 46, 2) ~= 0 then return nil, "bytes 46 and 47 are not zero" end
            local may = header.kind == CHUNK or header.kind == OPEN and not header.in_place
            if header.filler > 0 and not may then return nil, "filler in a packet that has none" end
            if header.filler > #raw - layout.size then return nil, "filler is longer than the packet" end
        end
        header.data_length = #raw - layout.size - header.filler
        return header
    end

    -- 0: the checksum is wrong. 1: it is right. 3: it covers only the header of a CHUNK.
    function format.check(raw, header)
        local layout = header.layout
        local stored = bytes.le(raw, layout.checksum, 4)
        local head = raw:sub(1, layout.checksum) .. "\0\0\0\0" .. raw:sub(layout.checksum + 5, layout.size)
        if layout == ethernet then head = head:sub(1, 44) .. raw:sub(45, 48) end
        local data = raw:sub(layout.size + 1, layout.size + header.data_length)
        if stored == bytes.crc32c(head, data) then return 1 end
        if header.kind == CHUNK and stored == bytes.crc32c(head) then return 3 end
        return 0
    end

    local function is_packet(raw, layout)
        local header = format.read(raw, layout)
        return header ~= nil and format.check(raw, header) ~= 0
    end

    -- Whether a packet of this layout may begin here; only a few bytes are looked at.
    local function may_begin(raw, at, layout)
        if #raw - at < layout.size or raw:sub(at + 1, at + 4) ~= raw:sub(1, 4) then return false end
        if layout == ethernet and raw:sub(at + 47, at + 48) ~= "\0\0" then return false end
        return channels[bytes.u8(raw, at + 4) % 16] ~= nil
    end

    -- The lengths that the first packet of a super-packet may have.
    local function lengths_of(raw, layout)
        local lengths = {}
        local at = raw:find(raw:sub(1, 4), layout.size + 1, true)
        while at do
            if may_begin(raw, at - 1, layout) then lengths[#lengths + 1] = at - 1 end
            at = raw:find(raw:sub(1, 4), at + 1, true)
        end
        return lengths
    end

    -- Finds out how long the packets are in these bytes: programs that send with segmentation leave
    -- super-packets, whose segments have one length except for the last. Returns layout and length;
    -- nothing if no packet with a right checksum begins here.
    function format.measure(raw)
        for _, layout in ipairs(format.layouts) do
            if format.read(raw:sub(1, layout.size), layout) or format.read(raw, layout) then
                if is_packet(raw, layout) then return layout, #raw end
                local lengths = lengths_of(raw, layout)
                for _, length in ipairs(lengths) do
                    if is_packet(raw:sub(1, length), layout) then return layout, length end
                end
                for _, length in ipairs(lengths) do  -- if only the first one is damaged
                    if is_packet(raw:sub(length + 1, 2 * length), layout) then return layout, length end
                end
            end
        end
        return nil
    end

    return format
end
