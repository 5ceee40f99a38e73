-- NCCL over RoCE (NET/IB) for Wireshark: clear-to-sends, and the sizes in immediate data.
--
-- A post-dissector. Put it into ~/.local/lib/wireshark/plugins/, or: tshark -X lua_script:nccl.lua
-- It reads what railscope keeps of each packet, and works on any capture with 128 bytes and more a frame.
--
-- The receiver of a connection writes a clear-to-send into the sender's memory, one RDMA WRITE Only without
-- immediate data for each message: 64 bytes from NCCL 2.20 on, 32 before. The sender's data ends with a WRITE
-- with immediate data: the size of the message, little-endian before 2.29, big-endian since.

local nccl = Proto("nccl", "NCCL NET/IB")

local f = {
	summary = ProtoField.string("nccl.summary", "Summary"),
	cts = ProtoField.bool("nccl.cts", "Clear-to-send"),
	layout = ProtoField.string("nccl.cts.layout", "Layout of NCCL"),
	address = ProtoField.uint64("nccl.cts.address", "Receive buffer", base.HEX),
	size = ProtoField.uint64("nccl.cts.size", "Size of the receive buffer", base.DEC),
	rkey = ProtoField.uint32("nccl.cts.rkey", "R_Key", base.HEX),
	requests = ProtoField.uint32("nccl.cts.requests", "Receives", base.DEC),
	tag = ProtoField.uint32("nccl.cts.tag", "Rank that is to send", base.DEC),
	number = ProtoField.uint64("nccl.cts.number", "Number of the message", base.DEC),
	immediate = ProtoField.bool("nccl.immediate", "Ends a message"),
	bytes = ProtoField.uint32("nccl.immediate.size", "Size of the message", base.DEC),
}
nccl.fields = f

local opcode = Field.new("infiniband.bth.opcode")
local dma_length = Field.new("infiniband.reth.dmalen")
local immediate = Field.new("infiniband.immdt")
local reth = Field.new("infiniband.reth")
local udp_length = Field.new("udp.length")
local pad_count = Field.new("infiniband.bth.padcnt")

local WRITE_ONLY = 0x0a
local LAST_WITH_IMMEDIATE = 0x09
local ONLY_WITH_IMMEDIATE = 0x0b

-- Places of the fields, newest first.
local LAYOUTS = {
	{ name = "2.30 and later", len = 64, size = 8, rkey = 16, requests = 48, tag = 52, number = 56 },
	{ name = "2.24 to 2.29", len = 64, size = 8, rkey = 16, requests = 32, tag = 36, number = 40 },
	{ name = "2.20 to 2.23", len = 64, size = 4, rkey = 12, requests = 20, tag = 24, number = 32 },
	{ name = "2.12 to 2.19", len = 32, size = 4, rkey = 12, requests = 16, tag = 20, number = 24 },
}

-- The most bytes that a receive takes, and the most messages of a connection, that are believed.
local MOST_BYTES = UInt64(0, 1)
local MOST_MESSAGES = UInt64(0, 256)

local function size_of(layout, bytes)
	if layout.size == 8 then
		return bytes(8, 8):le_uint64()
	end
	return UInt64(bytes(8, 4):le_uint())
end

-- Whether the bytes make sense in a layout.
local function fits(layout, bytes)
	if bytes:len() < layout.len then
		return false
	end
	local requests = bytes(layout.requests, 4):le_uint()
	local number = bytes(layout.number, 8):le_uint64()
	local size = size_of(layout, bytes)
	return requests >= 1 and requests <= 8
		and bytes(0, 8):le_uint64() ~= UInt64(0)
		and number > UInt64(0) and number < MOST_MESSAGES
		and size <= MOST_BYTES
		and bytes(layout.rkey, 4):le_uint() ~= 0
end

local function add_cts(bytes, tree)
	for _, layout in ipairs(LAYOUTS) do
		if bytes:len() == layout.len and fits(layout, bytes) then
			local size = size_of(layout, bytes)
			local number = bytes(layout.number, 8):le_uint64()
			local tag = bytes(layout.tag, 4):le_uint()
			local text = string.format("CTS %s from rank %d, %s bytes", tostring(number), tag, tostring(size))
			local branch = tree:add(nccl, bytes, "NCCL " .. text)
			branch:add(f.summary, text):set_generated()
			branch:add(f.cts, true):set_generated()
			branch:add(f.layout, layout.name):set_generated()
			branch:add_le(f.address, bytes(0, 8))
			branch:add(f.size, bytes(8, layout.size), size)
			branch:add_le(f.rkey, bytes(layout.rkey, 4))
			branch:add_le(f.requests, bytes(layout.requests, 4))
			branch:add_le(f.tag, bytes(layout.tag, 4))
			branch:add_le(f.number, bytes(layout.number, 8))
			return
		end
	end
end

-- Which byte order fitted alone so far: it decides where both fit.
local votes = { little = 0, big = 0 }

function nccl.init()
	votes = { little = 0, big = 0 }
end

-- The bytes of payload on the wire: what the UDP length leaves.
local function payload_length(has_header)
	local all = { udp_length() }
	local last, pad = all[#all], pad_count()
	if not last or not pad then
		return nil
	end
	-- UDP 8, BTH 12, RETH 16, immediate data 4, ICRC 4.
	local headers = 8 + 12 + 4 + 4 + (has_header and 16 or 0)
	return last.value - headers - pad.value
end

-- Whether a message of this size can end with so much payload: all packets before are full, and an MTU is a
-- multiple of 256.
local function ends(size, last)
	return size > last and last > 0 and (size - last) % 256 == 0
end

-- The size is that of the only packet, or one that its last packet fits.
local function message_size(little, big)
	local length = dma_length()
	if length then
		return (length.value == big and length.value ~= little) and "big" or "little"
	end
	local last = payload_length(false)
	if last then
		local is_little, is_big = ends(little, last), ends(big, last)
		if is_little ~= is_big then
			local order = is_little and "little" or "big"
			votes[order] = votes[order] + 1
			return order
		end
	end
	return votes.big > votes.little and "big" or "little"
end

local function add_immediate(found, tree)
	local bytes = found.range
	local little, big = bytes:le_uint(), bytes:uint()
	local order = message_size(little, big)
	local size = order == "big" and big or little
	local text = string.format("message of %.0f bytes ends", size)
	local branch = tree:add(nccl, bytes, "NCCL " .. text)
	branch:add(f.summary, text):set_generated()
	branch:add(f.immediate, true):set_generated()
	branch:add(f.bytes, bytes, size)
end

function nccl.dissector(buffer, _, tree)
	local code = opcode()
	if not code then
		return
	end
	if code.value == LAST_WITH_IMMEDIATE or code.value == ONLY_WITH_IMMEDIATE then
		local found = immediate()
		if found and found.range:len() == 4 then
			add_immediate(found, tree)
		end
	elseif code.value == WRITE_ONLY then
		local length, header = dma_length(), reth()
		if not length or not header or (length.value ~= 64 and length.value ~= 32) then
			return
		end
		local begin = header.offset + header.len
		if begin + length.value <= buffer:len() then
			add_cts(buffer(begin, length.value), tree)
		end
	end
end

register_postdissector(nccl)
