#include "stores/redis/scripts.hpp"

namespace conclave::redis {

namespace {

constexpr std::string_view campaign_body = R"lua(
local key, queue, waiting, metadata_key = unpack(KEYS)
local attempt, candidate, lease, floor, metadata, seen_term, seen_stamp, expected, inbox, server, patient,
      young = unpack(ARGV)
--common--
--line--
--shown--
-- The client has asked this server for how long it decides. A promotion makes it another one.
local function is_same_server()
  if server == '' then return true end
  local info = redis.pcall('INFO', 'replication')
  return type(info) == 'string' and info:find('master_replid:' .. server, 1, true) ~= nil
end

local record = read(key)
local fault = fault_of(key, record)
if fault then return fault end
if record.ended then return {'ENDED'} end

-- The same attempt again: its reply was lost. What was read from a disk since may be older than terms
-- that were granted meanwhile; then it gets a new one.
local known = record.term and record.state ~= 'removed' and not less(record.term, floor)
local restored = false
if known and record.attempt == attempt then
  if record.state ~= 'held' then return {'FINISHED'} end
  if not is_same_server() then return {'CHANGED'} end
  local own_lease, previous_lease, vacancy = (redis.call('HGET', key, 'grant') or ''):match('^(%d+) (%d+) (%a+)$')
  restored = server == '' or redis.call('HGET', key, 'server') ~= server
  if not restored then
    redis.call('HSET', key, 'renewed', now_text, 'stamp', next_stamp(record))
    return {'GRANTED', record.term, own_lease, vacancy, previous_lease}
  end
end

-- The first in line is dropped when it should have looked again long ago. Whom nobody can wake looks four
-- times in a lease, and is waited for twice as long: it may be late.
local lease_before = tonumber(record.lease or '0')
local before = nil
local turn = 20000
for _ = 1, 16 do
  local first = redis.call('ZRANGE', queue, 0, 0)[1]
  if first == attempt then before = 0 end
  if not first or before then break end
  local bid = unpacked(redis.call('HGET', waiting, first))
  if bid and not is_silent(bid, lease_before) then
    if bid.inbox == '' then turn = turn + bid.lease / 2 end
    break
  end
  leave(first)
end

local found = nil
if restored then
  found = 'abandoned'
elseif not record.term then
  found = 'absent'
elseif record.state == 'removed' then
  found = now < lease_end(record) and 'abandoned' or 'absent'
elseif less(record.term, floor) then
  found = 'absent'
elseif record.state ~= 'held' then
  found = record.state
elseif record.term == seen_term and record.stamp == seen_stamp then
  found = 'expired'
elseif now >= lease_end(record) and expected ~= '' and now - tonumber(expected) <= lease_before / 50 then
  found = 'expired'
end

local stands = before or redis.call('ZRANK', queue, attempt)
before = stands or redis.call('ZCARD', queue)
local wait = 0
if record.state == 'held' and not found then
  wait = math.min(math.max(lease_end(record) - now, 0), lease_before)
elseif record.state ~= 'held' and record.vacated then
  local passed = now - tonumber(record.vacated)
  if passed >= 0 then wait = math.max(math.min(before * turn, lease_before) - passed, 0) end  -- else the clock was set back
end

-- What was confirmed before a restart or a promotion may be lost, and its leader on the way back: a grant
-- would not be valid yet, but take its term from it.
if found then wait = math.max(wait, tonumber(young)) end

-- A record can vanish under a leader that has not heard of it. It listens, and will write it anew; who
-- has waited long enough for that gets the place, but has to wait for its lease.
-- Which channel that is tells how long the lease is at most: 2^n milliseconds.
local vanished = false
if not record.term then
  local channels = {}
  for n = 0, 31 do channels[n + 1] = key .. ':leader:' .. n end
  local listening = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
  for n = 0, listening.err and -1 or 31 do
    if listening[2 * n + 2] > 0 then
      vanished = patient ~= '1'
      found = 'abandoned'
      lease_before = 2 ^ n * 1000
    end
  end
end

if not found or wait > 0 or vanished then
  -- Those just before it that are dead would keep it from moving up.
  if before > 1 then
    for _, other in ipairs(redis.call('ZRANGE', queue, math.max(before - 3, 1), before - 1)) do
      local bid = unpacked(redis.call('HGET', waiting, other))
      if not bid or is_silent(bid, lease_before) then
        leave(other)
        before = before - 1
      end
    end
  end
  redis.call('HSET', waiting, attempt, table.concat(
      {inbox, now_text, lease, before + 1, candidate, metadata}, '\n'))
  if not stands then
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
    redis.call('ZADD', queue, text(math.max(tonumber(last[2] or '0') + 1, now)), attempt)
  end
  if vanished then return {'VANISHED', before + 1, text(tonumber(lease) / 4), text(lease_before)} end
  local reply = {'HELD', before + 1, text(wait), now_text}
  if not found then reply[5] = show(record, key, metadata_key) end
  return reply
end

if not is_same_server() then return {'CHANGED'} end
local term = greater(greater(next_of(record.term or '0'), now_text), next_of(floor))
if less('18446744073709551615', term) then return {'EXHAUSTED'} end
local settled = found == 'released' or found == 'expired'
local waited_for = settled and lease or text(math.max(tonumber(lease), lease_before))
-- What can fail comes first, so that a place is not given by a script that fails.
if stands then leave(attempt) end
local has_metadata = keep_metadata(metadata_key, metadata)
local previous_lease = text(lease_before)
hold(key, record, has_metadata, term, attempt, candidate, waited_for,
     table.concat({lease, previous_lease, found}, ' '), server)
return {'GRANTED', term, lease, found, previous_lease}
)lua";

constexpr std::string_view renew_body = R"lua(
--common--
local wanted = {'format', 'term', 'attempt', 'state', 'stamp', 'ended'}
local function renew(key, attempt, term)
  local r = redis.call('HMGET', key, unpack(wanted))
  if not r[1] then return redis.call('EXISTS', key) == 1 and 'other' or 'gone' end
  if r[1] ~= '1' then return 'newer' end
  if r[6] then return 'ended' end
  if r[2] == term and r[3] == attempt and r[4] == 'held' then
    redis.call('HSET', key, 'renewed', now_text, 'stamp', next_stamp({stamp = r[5]}))
    return 'renewed'
  end
  if fault_of(key, {format = r[1], term = r[2], state = r[4]}) then return 'other' end
  if less(r[2], term) and r[3] ~= attempt then return 'older' end  -- one attempt has one term
  return less(term, r[2]) and 'superseded' or 'lost'
end
-- One that is damaged costs the others nothing.
local answers = {}
for i, key in ipairs(KEYS) do
  local understood, answer = pcall(renew, key, ARGV[2 * i - 1], ARGV[2 * i])
  answers[i] = understood and answer or 'other'
end
return answers
)lua";

constexpr std::string_view repair_body = R"lua(
local key, metadata_key = unpack(KEYS)
local attempt, term, lease, candidate, metadata = unpack(ARGV)
--common--
local record = read(key)
local fault = fault_of(key, record)
if fault then return fault end
if record.ended then return {'ended'} end
if record.term == term and record.attempt == attempt and record.state == 'held' then
  redis.call('HSET', key, 'renewed', now_text, 'stamp', next_stamp(record))
  return {'renewed'}
end
if record.term and (record.attempt == attempt or not less(record.term, term)) then
  return {less(term, record.term) and 'superseded' or 'lost'}
end
local waited_for = text(math.max(tonumber(lease), tonumber(record.lease or '0')))
local has_metadata = keep_metadata(metadata_key, metadata)
hold(key, record, has_metadata, term, attempt, candidate, waited_for, lease .. ' 0 absent', '')
redis.call('HSET', key, 'repaired', '1')
return {'renewed'}
)lua";

constexpr std::string_view resign_body = R"lua(
local key, queue, waiting, metadata_key = unpack(KEYS)
local attempt, term, mark = unpack(ARGV)
--common--
--line--
local record = read(key)
local fault = fault_of(key, record)
if fault then return fault end
local holds = record.state == 'held' and record.attempt == attempt and (term == '' or term == record.term)
if holds and not record.ended then
  -- While it was gone, somebody else may have been confirmed.
  if record.repaired then mark = 'abandoned' end
  redis.call('HSET', key, 'state', mark, 'vacated', now_text)
  if record.metadata then pcall(drop, metadata_key, 'string') end
  pcall(leave, attempt)
  pcall(call_up, key, 3, record.term, mark)  -- it is done, whoever can be told
  return {'DONE', mark}
end
local was_first = redis.call('ZRANK', queue, attempt) == 0
if not leave(attempt) then return {'GONE'} end
if was_first then call_up(key, 1, record.term or '0', record.state or 'absent') end
return {'DONE'}
)lua";

constexpr std::string_view announce_body = R"lua(
local key, queue, waiting, metadata_key = unpack(KEYS)
local term = ARGV[1]
--common--
--line--
--shown--
local record = read(key)
if record.term ~= term or record.ended then return 0 end
if record.state == 'held' then
  local leader, _, attempt, stamp, lease, renewed, granted, metadata = unpack(show(record, key, metadata_key))
  redis.pcall('PUBLISH', key .. ':news', table.concat(
      {'record', term, attempt, stamp, lease, renewed, now_text, granted, leader, metadata}, '\n'))
  call_up(key, 1, term, 'held')  -- it is next now, and looks when this lease would end
elseif record.vacated then
  redis.pcall('PUBLISH', key .. ':news', table.concat({'vacant', term, record.state}, '\n'))
end
return 0
)lua";

constexpr std::string_view look_body = R"lua(
--common--
--shown--
local function look(key, metadata_key)
  local record = read(key)
  if fault_of(key, record) then return {'other'} end
  local answer = {record.ended and 'ended' or record.state or 'absent', now_text, record.term or '0'}
  if record.state == 'held' and not record.ended then answer[4] = show(record, key, metadata_key) end
  return answer
end
local answers = {}
for i = 1, #KEYS, 2 do
  local understood, answer = pcall(look, KEYS[i], KEYS[i + 1])
  answers[#answers + 1] = understood and answer or {'other'}
end
return answers
)lua";

constexpr std::string_view inspect_body = R"lua(
local key, queue, waiting, metadata_key = unpack(KEYS)
--common--
--line--
--shown--
local record = read(key)
local fault = fault_of(key, record)
if fault then return fault end
local state = record.state or 'absent'
if state == 'held' and now >= lease_end(record) then state = 'expired' end
local bids = {}
for _, attempt in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
  local bid = unpacked(redis.call('HGET', waiting, attempt))
  if bid then bids[#bids + 1] = {bid.candidate, bid.metadata} end
end
local answer = {'SEEN', state, record.ended and 1 or 0, now_text, record.term or '0', bids}
if record.state == 'held' then answer[7] = show(record, key, metadata_key) end
return answer
)lua";

constexpr std::string_view end_body = R"lua(
local key, queue, waiting, metadata_key = unpack(KEYS)
--common--
local record = read(key)
local fault = fault_of(key, record)
if fault then return fault end
if not record.term or record.state == 'removed' then return {'GONE'} end
redis.call('HSET', key, 'ended', '1')
if record.state == 'held' then redis.call('HSET', key, 'state', 'abandoned', 'vacated', now_text) end
drop(queue, 'zset')
drop(waiting, 'hash')
if record.metadata then drop(metadata_key, 'string') end
redis.pcall('PUBLISH', key .. ':news', 'ended')
return {'DONE'}
)lua";

constexpr std::string_view remove_body = R"lua(
local key, queue, waiting, metadata_key = unpack(KEYS)
--common--
local record = read(key)
local fault = fault_of(key, record)
if fault then return fault end
local is_trace = record.state == 'removed'
if not record.term or (is_trace and ARGV[1] == 'trace') then return {'GONE'} end
if record.state == 'held' then return {'HELD'} end
local believed = record.state ~= 'released' and now < lease_end(record)
if ARGV[1] == 'nothing' and believed then return {'BELIEVED'} end
redis.call('DEL', key)
drop(queue, 'zset')
drop(waiting, 'hash')
drop(metadata_key, 'string')
if ARGV[1] == 'trace' then
  redis.call('HSET', key, 'format', '1', 'term', record.term, 'state', 'removed', 'stamp', next_stamp(record))
  if believed then redis.call('HSET', key, 'renewed', record.renewed, 'lease', record.lease) end
end
return {'DONE'}
)lua";

constexpr std::string_view age_body = R"lua(
--common--
local known = redis.call('HMGET', KEYS[1], 'server', 'since')
if known[1] == ARGV[1] and tonumber(known[2]) <= now then return text(now - tonumber(known[2])) end
redis.call('HSET', KEYS[1], 'format', '1', 'server', ARGV[1], 'since', now_text)
return '0'
)lua";

// An election goes on when the memory is full: the leader may be the one who cleans up.
constexpr std::string_view writes = "allow-oom";
constexpr std::string_view reads = "no-writes,allow-oom";

}  // namespace

const Script campaign{"campaign", writes, campaign_body};
const Script renew{"renew", writes, renew_body};
const Script repair{"repair", writes, repair_body};
const Script resign{"resign", writes, resign_body, true};
const Script announce{"announce", writes, announce_body};
const Script look{"look", reads, look_body};
const Script inspect{"inspect", reads, inspect_body};
const Script end{"end", writes, end_body};
const Script remove{"remove", writes, remove_body};
const Script age{"age", writes, age_body};

}  // namespace conclave::redis
