-- Numbers in strings of bytes, and the checks of all protocols. Places count from 0.
local bytes = {}

local band, bxor, bnot = bit.band, bit.bxor, bit.bnot
local lshift, rshift = bit.lshift, bit.rshift

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

function bytes.be(raw, at, size)
    local value = 0
    for i = 1, size do value = value * 256 + raw:byte(at + i) end
    return value
end

-- A name for 8 bytes: a number of Lua cannot hold 64 bits.
function bytes.name(raw, at, size)
    return (raw:sub(at + 1, at + size):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

function bytes.zeros(raw, from, to)
    return not raw:sub(from + 1, to):find("[^%z]")
end

local function reflected_table(polynomial)
    local made = {}
    for b = 0, 255 do
        local state = b
        for _ = 1, 8 do
            local odd = band(state, 1) == 1
            state = rshift(state, 1)
            if odd then state = bxor(state, polynomial) end
        end
        made[b] = state
    end
    return made
end

-- A check with a reflected polynomial that begins with ones and is inverted: a function of any
-- number of strings.
local function reflected(polynomial, ones)
    local steps = reflected_table(polynomial)
    return function(...)
        local state = ones
        for _, raw in ipairs({...}) do
            for i = 1, #raw, 8 do
                for _, b in ipairs({raw:byte(i, i + 7)}) do
                    state = bxor(rshift(state, 8), steps[band(bxor(state, b), 255)])
                end
            end
        end
        return unsigned(band(bnot(state), ones))
    end
end

bytes.crc32c = reflected(0x82F63B78, 0xFFFFFFFF)
bytes.crc32 = reflected(0xEDB88320, 0xFFFFFFFF)
bytes.crc16_iba = reflected(0xD008, 0xFFFF)

-- A check of 16 bits that begins with zeros, is not inverted, and takes the last byte first.
local function last_byte_first(polynomial)
    local steps = {}
    for b = 0, 255 do
        local state = lshift(b, 8)
        for _ = 1, 8 do
            local carry = band(state, 0x8000) ~= 0
            state = band(lshift(state, 1), 0xFFFF)
            if carry then state = bxor(state, polynomial) end
        end
        steps[b] = state
    end
    return function(raw)
        local state = 0
        for i = #raw, 1, -1 do
            local top = bxor(rshift(state, 8), raw:byte(i))
            state = bxor(band(lshift(state, 8), 0xFFFF), steps[top])
        end
        return state
    end
end

bytes.crc16_cxl = last_byte_first(0xF053)
bytes.crc16_ucie = last_byte_first(0x8005)

-- The product of two elements of the field of 256 elements with the polynomial 12B.
local function product(a, b)
    local sum = 0
    while b > 0 do
        if band(b, 1) == 1 then sum = bxor(sum, a) end
        a = lshift(a, 1)
        if a > 255 then a = bxor(a, 0x12B) end
        b = rshift(b, 1)
    end
    return sum
end

-- The 8 bytes of the check of a flit of 256 bytes, as a string. The register has two halves.
local generator = {0xD5, 0x68, 0xFE, 0xD5, 0x33, 0x41, 0x4D, 0x69}
local high_steps, low_steps = {}, {}
for b = 0, 255 do
    local high, low = 0, 0
    for i = 1, 4 do
        high = bxor(lshift(high, 8), product(generator[i], b))
        low = bxor(lshift(low, 8), product(generator[i + 4], b))
    end
    high_steps[b], low_steps[b] = high, low
end

function bytes.flit_crc(raw)
    local high, low = 0, 0
    for i = #raw, 1, -1 do
        local top = bxor(rshift(high, 24), raw:byte(i))
        high = bxor(lshift(high, 8), rshift(low, 24), high_steps[top])
        low = bxor(lshift(low, 8), low_steps[top])
    end
    local function four(word)
        return string.char(band(rshift(word, 24), 255), band(rshift(word, 16), 255),
                           band(rshift(word, 8), 255), band(word, 255))
    end
    return four(high) .. four(low)
end

-- The 6 bytes of the check of a half of a flit, as of 130 bytes that end with zeros.
local half_generator = {0x7E, 0x47, 0xAB, 0x1A, 0xA8, 0x32}
local half_high_steps, half_low_steps = {}, {}
for b = 0, 255 do
    local high, low = 0, 0
    for i = 1, 2 do high = bxor(lshift(high, 8), product(half_generator[i], b)) end
    for i = 3, 6 do low = bxor(lshift(low, 8), product(half_generator[i], b)) end
    half_high_steps[b], half_low_steps[b] = high, low
end

function bytes.half_crc(raw)
    local high, low = 0, 0
    for i = 1, 130 do
        local top = bxor(rshift(high, 8), raw:byte(i) or 0)
        high = bxor(band(lshift(high, 8), 0xFFFF), rshift(low, 24), half_high_steps[top])
        low = bxor(lshift(low, 8), half_low_steps[top])
    end
    return string.char(rshift(high, 8), band(high, 255), band(rshift(low, 24), 255), band(rshift(low, 16), 255),
                       band(rshift(low, 8), 255), band(low, 255))
end

return bytes
