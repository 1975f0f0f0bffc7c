// What several scripts have in common.
#include "stores/redis/scripts.hpp"

namespace conclave::redis {

// A record is a hash without a time to live: nothing in it disappears by itself. Times are
// microseconds of the server's clock, terms are decimal text.
const std::string_view script_common = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- tostring() would round it.
local function text(number) return string.format('%.0f', number) end
local now_text = text(now)

-- Terms have 64 bits and Lua's numbers 53, so they are compared and counted as text.
local function less(a, b) return #a < #b or (#a == #b and a < b) end
local function greater(a, b) return less(a, b) and b or a end
local function next_of(term)
  local at = #term
  while at > 0 and term:sub(at, at) == '9' do at = at - 1 end
  local zeros = string.rep('0', #term - at)
  if at == 0 then return '1' .. zeros end
  return term:sub(1, at - 1) .. string.char(term:byte(at) + 1) .. zeros
end

-- What decides. By name, since that takes half the time of HGETALL and a loop.
local function read(key)
  local r = redis.call('HMGET', key, 'format', 'term', 'attempt', 'state', 'lease', 'renewed', 'stamp', 'vacated',
                       'ended', 'repaired', 'metadata')
  return {format = r[1] or nil, term = r[2] or nil, attempt = r[3] or nil, state = r[4] or nil,
          lease = r[5] or nil, renewed = r[6] or nil, stamp = r[7] or nil, vacated = r[8] or nil,
          ended = r[9] or nil, repaired = r[10] or nil, metadata = r[11] or nil}
end

-- What is not ours, or damaged, is neither understood nor touched: a term that cannot be read is one that
-- the next could fall below.
local states = {held = true, released = true, abandoned = true, removed = true}
local function fault_of(key, record)
  if record.format == '1' then
    return not (states[record.state] and record.term and record.term:find('^%d+$')) and {'FOREIGN'} or nil
  end
  if record.format then return {'NEWER', record.format} end
  if redis.call('EXISTS', key) == 1 then return {'FOREIGN'} end
  return nil
end

-- What somebody else keeps under a key of ours is left to him.
local function type_of(key) return redis.call('TYPE', key).ok end
local function drop(key, kind)
  if type_of(key) == kind then redis.call('DEL', key) end
end
local function keep_metadata(key, metadata)
  if metadata == '' then return false end
  local kind = type_of(key)
  if kind ~= 'none' and kind ~= 'string' then return false end
  redis.call('SET', key, metadata)
  return true
end

-- No version comes back, also when the clock was set back.
local function next_stamp(record) return text(math.max(tonumber(record.stamp or '0') + 1, now)) end
-- A record that there was keeps its other fields. What can fail comes first. No value is longer than 64
-- bytes, unless a name is: the server would keep the record as a table, which takes three times the room.
local function hold(key, record, has_metadata, term, attempt, leader, lease, grant, server)
  if record.repaired then redis.call('HDEL', key, 'repaired') end
  if record.metadata and not has_metadata then redis.call('HDEL', key, 'metadata') end
  if has_metadata then redis.call('HSET', key, 'metadata', '1') end
  redis.call('HSET', key, 'format', '1', 'term', term, 'attempt', attempt, 'state', 'held', 'leader', leader,
             'lease', lease, 'renewed', now_text, 'stamp', next_stamp(record), 'granted', now_text, 'grant', grant,
             'server', server)
end
local function lease_end(record) return tonumber(record.renewed or '0') + tonumber(record.lease or '0') end
)lua";

// Standing bids: a sorted set in the order in which they came, and what each one said.
const std::string_view script_line = R"lua(
local function unpacked(packed)
  if not packed then return nil end
  local inbox, repeated, lease, told, candidate, metadata =
      packed:match('^(.-)\n(%d+)\n(%d+)\n(%d+)\n(.-)\n(.*)$')
  if not inbox then return nil end
  return {inbox = inbox, repeated = tonumber(repeated), lease = tonumber(lease), told = tonumber(told),
          candidate = candidate, metadata = metadata}
end

-- It should have looked again long ago; or it comes from before the clock was set back.
local function is_silent(bid, lease)
  local longest = math.max(lease, bid.lease)
  return now - bid.repeated > (bid.told + 1) * 2 * longest or bid.repeated - now > longest
end

local function leave(attempt)
  redis.call('HDEL', waiting, attempt)
  return redis.call('ZREM', queue, attempt) == 1
end

-- Tells the first in line that it is its turn, and the next ones what has become of the place. Whose
-- inbox nobody reads is dead, and leaves the line. The server sends last what was said first: so the first
-- in line is told last.
local function call_up(key, count, term, state)
  for _ = 1, 100 do
    local attempts = redis.call('ZRANGE', queue, 0, count - 1)
    if #attempts == 0 then return end
    local bids = redis.call('HMGET', waiting, unpack(attempts))
    local dead = false
    for i = #attempts, 1, -1 do
      local inbox, candidate = (bids[i] or ''):match('^(.-)\n%d+\n%d+\n%d+\n(.-)\n')
      local letter = i == 1 and 'turn\n' .. key .. '\n' .. (candidate or '')
          or 'vacant\n' .. key .. '\n' .. term .. '\n' .. state
      if not inbox or (inbox ~= '' and redis.pcall('PUBLISH', inbox, letter) == 0) then
        leave(attempts[i])
        dead = dead or i == 1
      end
    end
    if not dead then return end
  end
end
)lua";

const std::string_view script_shown = R"lua(
local function metadata_of(record, key)
  local kept = record.metadata and redis.pcall('GET', key)
  return type(kept) == 'string' and kept or ''
end
local function show(record, key, metadata_key)
  local r = redis.call('HMGET', key, 'leader', 'granted')
  return {r[1], record.term, record.attempt, record.stamp, record.lease, record.renewed, r[2],
          metadata_of(record, metadata_key)}
end
)lua";

}  // namespace conclave::redis
