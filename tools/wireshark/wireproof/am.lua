-- Shows packets of SP Active Messages: over UDP, and in captures of ladders.
return function(common, bytes, format, track)
    local am = {made = format.made}
    local made, F, E = format.made, format.made.fields, format.made.experts
    local REQ, REP, CHUNK, OPEN, GET_REQ, ACK, NACK, KEEPALIVE, HELLO, BUNDLE, UNKNOWN =
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11

    local function show_header(tree, tvb, header)
        local layout = header.layout
        tree:add(F.layout, layout.code):set_generated()
        tree:add_le(F.dst, tvb(0, 2))
        tree:add_le(F.src, tvb(2, 2))
        tree:add(F.kind, tvb(4, 1))
        tree:add(F.channel, tvb(4, 1))
        tree:add(F.in_place, tvb(4, 1))
        tree:add(F.route, tvb(4, 1))
        tree:add(F.round, tvb(5, 1))
        tree:add_le(F.count, tvb(6, 2))
        tree:add_le(F.cookie, tvb(8, 8))
        for _, key in ipairs({"number", "ack_request", "ack_reply", "id"}) do
            tree:add_le(F[key], tvb(layout[key][1], layout[key][2]))
        end
        tree:add_le(F.offset, tvb(layout.offset[1], layout.offset[2]))
        tree:add_le(F.checksum, tvb(layout.checksum, 4))
        if layout.size == 48 then tree:add_le(F.filler, tvb(44, 2)) end
    end

    -- The parts of the data, by kind. Each returns a table of those that others look at. `data` is
    -- a part of the packet, `at` the place where it begins.
    local bodies = {}

    local function plain(tree, tvb, at, length)
        if length > 0 then tree:add(F.data, tvb(at, length)) end
    end

    bodies[OPEN] = function(tree, tvb, at, length)
        if length < 24 then
            common.complain(made, tree, "The body of an OPEN has 24 bytes")
            return {}
        end
        tree:add_le(F.address, tvb(at, 8))
        tree:add_le(F.total, tvb(at + 8, 8))
        tree:add_le(F.handler, tvb(at + 16, 4))
        tree:add_le(F.argument, tvb(at + 20, 4))
        plain(tree, tvb, at + 24, length - 24)
        return {}
    end

    bodies[GET_REQ] = function(tree, tvb, at, length)
        if length < 16 then
            common.complain(made, tree, "The body of a GET_REQ has 16 bytes")
            return {}
        end
        tree:add_le(F.address, tvb(at, 8))
        tree:add_le(F.total, tvb(at + 8, 8))
        return {}
    end

    bodies[REP] = function(tree, tvb, at, length, header)
        if header.id ~= 0 then
            plain(tree, tvb, at, length)
            return {}
        end
        if length < 12 then
            common.complain(made, tree, "The body of a refusal has 12 bytes")
            return {}
        end
        tree:add_le(F.refused_what, tvb(at, 4))
        tree:add_le(F.refused_id, tvb(at + 4, 4))
        tree:add_le(F.refused_reason, tvb(at + 8, 4))
        local reason = tvb(at + 8, 4):le_uint()
        if reason ~= 0 then
            tree:add_proto_expert_info(E.refusal, reason == 2 and "Refused: forbidden" or "Refused: no handler")
        end
        return {refused_what = tvb(at, 4):le_uint(), refused_id = tvb(at + 4, 4):le_uint()}
    end

    local function lost_before(map, distance)
        local lost = 0
        for i = 0, distance - 1 do
            local octet = map:byte(math.floor(i / 8) + 1) or 0
            if math.floor(octet / 2 ^ (i % 8)) % 2 == 0 then lost = lost + 1 end
        end
        return lost
    end

    bodies[NACK] = function(tree, tvb, at, length, header)
        for _, key in ipairs({"nack_overrun", "nack_refuses", "nack_marks"}) do
            tree:add_le(F[key], tvb(6, 2))
        end
        local refuses = math.floor(header.count / 2) % 2 == 1
        local text = "NACK: the receiver expects " .. header.number
        if header.id == 1 then tree:add_proto_expert_info(E.leaves, "The sender knows that the peer leaves") end
        if refuses then text = text .. ", which arrived but has no room yet" end
        if length == 0 then
            tree:add_proto_expert_info(E.nack, text)
            return {}
        end
        if length < 8 then
            common.complain(made, tree, "The body of a selective NACK has 8 bytes and a map")
            return {}
        end
        tree:add_le(F.nack_end, tvb(at, 4))
        tree:add_le(F.nack_reach, tvb(at + 4, 4))
        if length > 8 then tree:add(F.nack_map, tvb(at + 8, length - 8)) end
        local last, reach = tvb(at, 4):le_uint(), tvb(at + 4, 4):le_uint()
        local map = length > 8 and tvb:raw(at + 8, length - 8) or ""
        -- A map of a length that no receiver writes says nothing.
        local lost = lost_before(map, math.min(last, reach, 65536))
        tree:add(F.nack_lost, lost):set_generated()
        if lost > 0 or refuses then tree:add_proto_expert_info(E.nack, text .. "; " .. lost .. " not there") end
        return {nack_end = last}
    end

    bodies[HELLO] = function(tree, tvb, at, length)
        if length < 32 then
            common.complain(made, tree, "The body of a HELLO has 32 bytes")
            return {}
        end
        for place, key in ipairs({"job", "nonce", "echo", "terms"}) do
            tree:add_le(F[key], tvb(at + 8 * (place - 1), 8))
        end
        return {nonce = bytes.name(tvb:raw(at + 8, 8), 0, 8), echo = bytes.name(tvb:raw(at + 16, 8), 0, 8)}
    end

    bodies[BUNDLE] = function(tree, tvb, at, length, header)
        local left = header.count
        while left > 0 do
            if length < 4 then
                common.complain(made, tree, "The bundle ends before its messages do")
                return {}
            end
            local size = tvb(at + 2, 2):le_uint()
            tree:add_le(F.message_handler, tvb(at, 2))
            tree:add_le(F.message_length, tvb(at + 2, 2))
            if size > length - 4 then
                common.complain(made, tree, "A message of the bundle is longer than the packet")
                return {}
            end
            plain(tree, tvb, at + 4, size)
            at, length, left = at + 4 + size, length - 4 - size, left - 1
        end
        if length > 0 then common.complain(made, tree, "Bytes after the last message of the bundle") end
        return {}
    end

    bodies[UNKNOWN] = function(tree, tvb, _, _, header)
        tree:add_le(F.ended, tvb(6, 2))
        local why = ({[1] = ": the peer was silent", [2] = ": a packet of " .. header.id ..
                      " bytes never arrived, sent again " .. header.number .. " times"})[header.count] or ""
        tree:add_proto_expert_info(E.unknown, "The sender does not have this session" .. why)
        return {}
    end

    bodies[KEEPALIVE] = function(tree, _, _, _, header)
        if header.count == 1 then
            tree:add_proto_expert_info(E.leaves, "The sender leaves, and asks whether its acknowledgements have arrived")
        else
            tree:add_proto_expert_info(E.keepalive, "The sender asks what has arrived")
        end
        return {}
    end

    local function seconds(time)
        local whole = math.floor(time)
        return NSTime.new(whole, math.floor((time - whole) * 1e9 + 0.5))
    end

    local function show_track(tree, header, result)
        local what = format.kinds[header.kind] .. " " .. header.number
        common.show_numbers(made, tree, result, what)
        if result.duplicate then
            tree:add_proto_expert_info(E.duplicate, what .. " again in round " .. header.round)
            tree:add(F.resent_of, result.resent_of):set_generated()
        end
        if result.late then tree:add_proto_expert_info(E.out_of_order, what .. " is late") end
        if result.duplicate_ack then tree:add_proto_expert_info(E.duplicate_ack, "The same numbers again") end
        if result.acks_frame then tree:add(F.acks_frame, result.acks_frame):set_generated() end
        if result.ack_rtt then tree:add(F.ack_rtt, seconds(result.ack_rtt)):set_generated() end
        if result.response_to then
            tree:add(F.response_to, result.response_to):set_generated()
            tree:add(F.response_time, seconds(result.response_time)):set_generated()
        end
    end

    local function named(header)
        local text = format.kinds[header.kind] or "frame"
        if header.channel == 1 then text = text .. " (reply)" end
        if format.numbered[header.kind] or header.kind == NACK or header.kind == KEEPALIVE then
            text = text .. " " .. header.number
        end
        if header.kind ~= HELLO and header.kind ~= UNKNOWN then
            text = text .. " ack " .. header.acks[header.channel]
        end
        return text
    end

    -- One packet. `cut`: the capture has not all of it.
    function am.packet(tvb, context, root, layout, cut)
        local raw = tvb:raw()
        local tree = root:add(made.proto, tvb())
        if #raw < layout.size then
            if cut then
                tree:add_proto_expert_info(E.cut, "The capture has only a part of the header")
            else
                common.complain(made, tree, "Shorter than a header")
            end
            common.inform(context, "AM, " .. #raw .. " bytes")
            return
        end
        local header, why = format.read(raw, layout)
        if not header then
            if cut and why == "filler is longer than the packet" then
                tree:add_proto_expert_info(E.cut, "The capture has only a part of the packet")
            else
                common.complain(made, tree, "No sender writes this: " .. why)
            end
            tree:add(F.data, tvb())
            common.inform(context, "AM, malformed")
            return
        end
        show_header(tree, tvb, header)
        tree:add(F.data_length, header.data_length):set_generated()
        tree:append_text(", " .. named(header))
        common.inform(context, named(header))
        if cut then
            tree:add_proto_expert_info(E.cut, "The capture has only a part of the packet")
            common.show_check(made, tree, "checksum_status", 2)
            plain(tree, tvb, layout.size, header.data_length)
            return
        end
        local status = common.once(context, function() return format.check(raw, header) end)
        common.show_check(made, tree, "checksum_status", status, "The checksum is wrong")
        local show = bodies[header.kind] or function(t, v, at, length)
            plain(t, v, at, length)
            return {}
        end
        local body = show(tree, tvb, layout.size, header.data_length, header)
        if status == 0 then return end  -- the receiver drops it
        show_track(tree, header, track.follow(context, header, body))
    end

    -- All packets of a datagram. The conversation is known: damaged packets are shown as such.
    function am.datagram(tvb, context, root)
        local raw, at = tvb:raw(), 0
        local cut = tvb:reported_len() > tvb:len()
        local measured = common.once(context, function()
            local layout, length = format.measure(raw)
            return {layout = layout or format.layouts[1], length = length or #raw}
        end)
        context.pinfo.cols.protocol = "AM"
        while at < #raw do
            local length = math.min(measured.length, #raw - at)
            local last = at + length == #raw
            am.packet(tvb(at, length):tvb(), context, root, measured.layout, cut and last)
            at = at + length
        end
    end

    -- Whether a datagram that nobody expects is one of SP Active Messages.
    function am.recognises(tvb)
        if tvb:len() < 48 then return false end
        return format.measure(tvb:raw()) ~= nil
    end

    return am
end
