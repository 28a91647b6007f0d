-- Numbers in strings of bytes, and CRC-32C. Places count from 0.
local bytes = {}

local band, bxor, bnot = bit.band, bit.bxor, bit.bnot
local rshift = bit.rshift

-- The functions of `bit` give numbers with a sign.
local function unsigned(value)
    return value % 4294967296
end

function bytes.u8(raw, at)
    return raw:byte(at + 1)
end

function bytes.le(raw, at, size)
    local value = 0
    for i = size, 1, -1 do value = value * 256 + raw:byte(at + i) end
    return value
end

-- A name for 8 bytes: a number of Lua cannot hold 64 bits.
function bytes.name(raw, at, size)
    return (raw:sub(at + 1, at + size):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local steps = {}
for b = 0, 255 do
    local state = b
    for _ = 1, 8 do
        local odd = band(state, 1) == 1
        state = rshift(state, 1)
        if odd then state = bxor(state, 0x82F63B78) end
    end
    steps[b] = state
end

-- CRC-32C of any number of strings.
function bytes.crc32c(...)
    local state = 0xFFFFFFFF
    for _, raw in ipairs({...}) do
        for i = 1, #raw, 8 do
            for _, b in ipairs({raw:byte(i, i + 7)}) do
                state = bxor(rshift(state, 8), steps[band(bxor(state, b), 255)])
            end
        end
    end
    return unsigned(bnot(state))
end

return bytes
