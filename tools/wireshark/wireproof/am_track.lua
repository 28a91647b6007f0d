-- Follows the numbers of SP Active Messages: one stream for each sender, session and channel. All
-- packets of a CHUNK have the number of its first packet, and differ by their offset.
return function(common, format)
    local track = {}
    local REQ, REP, CHUNK, OPEN, GET_REQ, ACK, NACK, KEEPALIVE, HELLO, BUNDLE = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    local holes_max = 4096  -- numbers of one gap whose round is remembered

    local function stream_of(way, header, channel)
        local streams = common.remembered("am streams")
        local name = way .. "|" .. header.cookie .. "|" .. channel
        local stream = streams[name]
        if not stream then
            stream = {seen = {}, holes = {}, chunk = nil, next_offset = {}, waiting = {}, first = 1, asked = {}}
            streams[name] = stream
        end
        return stream
    end

    local function span_of(header)
        if header.kind == CHUNK or header.kind == BUNDLE then return math.max(header.count, 1) end
        return 1
    end

    local function place_of(header)
        if header.kind == CHUNK then return header.number .. ":" .. header.offset end
        return tostring(header.number)
    end

    -- The packets that the newest chunk still lacks have been passed: they are missing.
    local function leave_chunk(stream, round)
        local chunk = stream.chunk
        stream.chunk = nil
        if not chunk or chunk.reached >= chunk.count then return 0 end
        stream.holes[chunk.number .. ":"] = round
        return chunk.count - chunk.reached
    end

    -- So many numbers are missing before this packet. What had them a lap ago is forgotten.
    local function leave_holes(stream, header, steps)
        for number = 0, math.min(steps, holes_max) - 1 do
            local place = tostring((stream.high + number) % header.modulus)
            stream.holes[place] = header.round
            stream.seen[place] = nil
        end
    end

    -- How many packets of a transfer are missing between the place that was expected and this one.
    local function packets_between(expected, header, longest)
        if header.offset <= expected then return 0 end
        return math.ceil((header.offset - expected) / math.max(longest or 0, header.data_length, 1))
    end

    -- The packet is the newest of its stream. Returns how many are missing before it.
    local function advance(stream, header, steps)
        local missing = 0
        if header.kind == CHUNK and stream.chunk and stream.chunk.number == header.number then
            local chunk = stream.chunk
            missing = packets_between(chunk.offset, header, chunk.longest)
            if missing > 0 then stream.holes[chunk.number .. ":"] = header.round end
            chunk.reached = chunk.reached + missing + 1
            chunk.offset = header.offset + header.data_length
            chunk.longest = math.max(chunk.longest, header.data_length)
            stream.next_offset[header.id] = chunk.offset
            return missing
        end
        missing = leave_chunk(stream, header.round)
        leave_holes(stream, header, steps)
        missing = missing + steps
        stream.high = (header.number + span_of(header)) % header.modulus
        if header.kind == CHUNK then
            -- With numbers missing, too, their packets may be those before this offset.
            local expected = stream.next_offset[header.id] or 0
            local before = 0
            if steps == 0 and missing == 0 and stream.begun then
                before = packets_between(expected, header, nil)
                if before >= header.count then before = 0 end  -- another transfer with this id
            end
            stream.chunk = {number = header.number, id = header.id, count = header.count, reached = before + 1,
                            offset = header.offset + header.data_length, longest = header.data_length}
            stream.next_offset[header.id] = stream.chunk.offset
            if before > 0 then stream.holes[header.number .. ":"] = header.round end
            missing = missing + before
        end
        return missing
    end

    -- A KEEPALIVE has the number after the packet that left last, which counts packets of a chunk.
    local function on_keepalive(stream, header)
        if not stream.high then
            stream.high = header.number
            return 0
        end
        local steps = common.ahead(header.number, stream.high, header.modulus)
        if steps >= 0 then
            local missing = steps + leave_chunk(stream, header.round)
            leave_holes(stream, header, steps)
            stream.high = header.number
            return missing
        end
        local chunk = stream.chunk
        if not chunk then return 0 end
        local reached = common.ahead(header.number, chunk.number, header.modulus)
        local missing = math.max(reached - chunk.reached, 0)
        if missing > 0 then
            chunk.reached = reached
            chunk.offset = chunk.offset + missing * chunk.longest
            stream.next_offset[chunk.id] = chunk.offset
            stream.holes[chunk.number .. ":"] = header.round
        end
        return missing
    end

    local function on_numbered(stream, header, packet, result)
        local place = place_of(header)
        local steps = stream.high and common.ahead(header.number, stream.high, header.modulus) or 0
        local newest = steps >= 0
        if stream.chunk and header.kind == CHUNK and header.number == stream.chunk.number then
            newest = header.offset >= stream.chunk.offset
            steps = 0
        end
        local before = stream.seen[place]
        if newest then
            result.missing = advance(stream, header, steps)
        elseif before then
            result[before.round == header.round and "duplicate" or "again"] = true
            result.resent_of = before.packet
        else
            local round = stream.holes[place] or stream.holes[header.number .. ":"]
            result[round == header.round and "late" or "again"] = true
        end
        stream.begun = true
        local entry = {packet = packet, round = header.round}
        stream.seen[place] = entry
        if header.kind == BUNDLE then
            for i = 1, header.count - 1 do
                stream.seen[tostring((header.number + i) % header.modulus)] = entry
            end
        end
        return entry
    end

    -- The peer acknowledges everything before `ack`. Returns the last packet that it covers.
    local function acknowledge(stream, ack, modulus)
        local last
        while stream.waiting[stream.first] and
            common.ahead(ack, stream.waiting[stream.first].behind, modulus) >= 0 do
            last = stream.waiting[stream.first]
            stream.waiting[stream.first] = nil
            stream.first = stream.first + 1
        end
        return last
    end

    local function on_acks(context, header, result)
        local newest
        for channel = 0, 1 do
            local stream = stream_of(context.back, header, channel)
            local last = acknowledge(stream, header.acks[channel], header.modulus)
            if last and (not newest or last.time > newest.time) then newest = last end
        end
        if newest then
            result.acks_frame = newest.packet
            -- After a retransmission nobody knows which of the packets was acknowledged.
            if not newest.entry.again then result.ack_rtt = context.now - newest.time end
        end
        local said = stream_of(context.way, header, "acks")
        if header.kind == ACK and said[0] == header.ack_request and said[1] == header.ack_reply then
            result.duplicate_ack = true
        end
        said[0], said[1] = header.ack_request, header.ack_reply
    end

    -- Questions: a HELLO with a nonce, a GET_REQ with a transfer, a KEEPALIVE with a number.
    local function ask(name, context)
        local questions = common.remembered("am questions")
        if not questions[name] then questions[name] = {packet = context.pinfo.number, time = context.now} end
    end

    local function answer(name, context, result)
        local questions = common.remembered("am questions")
        local question = questions[name]
        if not question or question.answered then return end
        question.answered = true
        result.response_to = question.packet
        result.response_time = context.now - question.time
    end

    local function on_questions(context, header, body, result)
        local here, there = context.way .. header.cookie, context.back .. header.cookie
        if header.kind == HELLO then
            if body.nonce then ask("hello " .. context.way .. body.nonce, context) end
            if body.echo then answer("hello " .. context.back .. body.echo, context, result) end
        elseif header.kind == GET_REQ then
            local name = "get " .. here .. header.id
            local questions = common.remembered("am questions")
            if questions[name] and questions[name].answered then questions[name] = nil end
            ask(name, context)
            stream_of(context.back, header, 1).next_offset[header.id] = nil
        elseif header.kind == OPEN then
            stream_of(context.way, header, 0).next_offset[header.id] = nil
        elseif header.kind == CHUNK and header.channel == 1 then
            answer("get " .. there .. header.id, context, result)
        elseif header.kind == REP and body.refused_what == 3 then
            answer("get " .. there .. body.refused_id, context, result)
        elseif header.kind == KEEPALIVE then
            ask(table.concat({"keepalive", here, header.channel, header.round, header.number}, " "), context)
        elseif header.kind == NACK and body.nack_end then
            local number = (header.number + body.nack_end) % header.modulus
            answer(table.concat({"keepalive", there, header.channel, header.round, number}, " "), context, result)
        end
    end

    -- What an undamaged packet means. `body` has fields of its data.
    function track.follow(context, header, body)
        return common.once(context, function()
            local result = {}
            local packet = context.pinfo.number
            if header.kind ~= HELLO and header.cookie then
                local stream = stream_of(context.way, header, header.channel)
                if format.numbered[header.kind] then
                    local entry = on_numbered(stream, header, packet, result)
                    if result.again then
                        for _, waits in pairs(stream.waiting) do
                            if waits.place == place_of(header) then waits.entry.again = true end
                        end
                    elseif not result.duplicate then
                        stream.waiting[(stream.last or 0) + 1] = {
                            behind = (header.number + span_of(header)) % header.modulus, packet = packet,
                            time = context.now, entry = entry, place = place_of(header)}
                        stream.last = (stream.last or 0) + 1
                    end
                elseif header.kind == KEEPALIVE then
                    result.missing = on_keepalive(stream, header)
                end
                if header.kind ~= 11 then on_acks(context, header, result) end
            end
            on_questions(context, header, body, result)
            return result
        end)
    end

    return track
end
