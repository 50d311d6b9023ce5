import { scriptOf } from './link.ts'

/**
 * A row is one string, its parts set apart by spaces, the hash last for it may hold any character:
 *
 *   state generation attempt token until crashes begun holder hash
 *
 * What a claim and its end do to it is decided by `claimRow` and `finishRow` in core/ledger.ts. A script must decide
 * where the row is, so here they are once more; a test puts the same questions to both.
 *
 * Redis drops a row some time after it may be forgotten: by the server's own clock, counted from now, so that a clock
 * which differs from ours can only drop it later. What counts is `until`.
 */
const ROW = `
local function read(text)
  if not text then return nil end
  local state, generation, attempt, token, untl, crashes, begun, holder, hash =
    string.match(text, '^(%a+) (%-?%d+) (%-?%d+) (%d+) (%-?%d+) (%d+) ([01]) (%S+) (.*)$')
  return {
    state = state, generation = tonumber(generation), attempt = tonumber(attempt),
    token = tonumber(token), untl = tonumber(untl), crashes = tonumber(crashes),
    begun = begun, holder = holder, hash = hash,
  }
end
local function whole(number) return string.format('%.0f', number) end
local function keep(key, row, now, longer)
  local text = table.concat({
    row.state, whole(row.generation), whole(row.attempt), whole(row.token), whole(row.untl), whole(row.crashes),
    row.begun, row.holder, row.hash,
  }, ' ')
  redis.call('SET', key, text, 'PX', whole(math.max(row.untl - now, 0) + longer))
end
-- a claim that nobody came back for tells of crashes for a week
local ABANDONED = 604800000
-- with a row its token is forgotten, and counts from 1 again: who still holds an old one must not be taken for the new
local ENDED = 3600000
`

/**
 * KEYS: rows. ARGV: now, until, holder, how many claims of ours got no answer, their holders, then hash, generation and
 * attempt for each key. Answers `fresh token crashes`, `busy until`, `done`, `stale` or `conflict`.
 */
export const CLAIM = scriptOf(`${ROW}
local now, untl, holder = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local count = tonumber(ARGV[4])
local unanswered = {}
for i = 1, count do unanswered[ARGV[4 + i]] = true end

local function claim(key, hash, generation, attempt)
  local row = read(redis.call('GET', key))
  local function fresh(crashes)
    local token = (row and row.token or 0) + 1
    keep(key, {
      state = 'claimed', generation = generation, attempt = attempt, token = token, untl = untl,
      crashes = crashes, begun = '0', holder = holder, hash = (hash == '*' and row) and row.hash or hash,
    }, now, ABANDONED)
    return 'fresh ' .. whole(token) .. ' ' .. whole(crashes)
  end
  if not row or (row.state ~= 'claimed' and row.untl <= now) then return fresh(0) end
  if row.hash ~= hash and row.hash ~= '*' and hash ~= '*' then return 'conflict' end
  if row.state == 'done' then return 'done' end
  if row.generation < generation then return fresh(0) end
  if row.generation > generation or row.state == 'dead' then return 'stale' end
  if row.state == 'free' then
    if row.attempt >= attempt then return 'stale' end
    return fresh(row.crashes)
  end
  if row.attempt > attempt then return 'stale' end
  if row.attempt < attempt then return fresh(0) end
  if unanswered[row.holder] then
    row.untl, row.holder = untl, holder
    keep(key, row, now, ABANDONED)
    return 'fresh ' .. whole(row.token) .. ' ' .. whole(row.crashes)
  end
  if row.untl > now then return 'busy ' .. whole(row.untl) end
  if row.crashes > 0 and row.begun == '0' then return fresh(row.crashes) end
  return fresh(row.crashes + 1)
end

local answers = {}
for i, key in ipairs(KEYS) do
  local at = i * 3 + count + 2
  answers[i] = claim(key, ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
end
return answers
`)

/** KEYS: the row. ARGV: now, token. Answers 1 where the token was the current one. */
export const BEGIN = scriptOf(`${ROW}
local row = read(redis.call('GET', KEYS[1]))
if not row or row.state ~= 'claimed' or row.token ~= tonumber(ARGV[2]) then return 0 end
row.begun = '1'
keep(KEYS[1], row, tonumber(ARGV[1]), ABANDONED)
return 1
`)

/**
 * KEYS: rows. ARGV: now, then token, state, attempt, until and crashes for each key: 1 keeps those of the
 * row. Answers 1 where the token was the current one.
 */
export const FINISH = scriptOf(`${ROW}
local now = tonumber(ARGV[1])
local answers = {}
for i, key in ipairs(KEYS) do
  local at = i * 5 - 3
  local row = read(redis.call('GET', key))
  if row and row.state == 'claimed' and row.token == tonumber(ARGV[at]) then
    row.state, row.attempt, row.untl = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
    if ARGV[at + 4] == '0' then row.crashes = 0 end
    keep(key, row, now, ENDED)
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
`)

/**
 * KEYS: rows. ARGV: now, how many claims are believed, then token, generation and attempt for each key. Answers 1 where a
 * crash was taken back: `acquitRow` once more.
 */
export const ACQUIT = scriptOf(`${ROW}
local now, believed = tonumber(ARGV[1]), tonumber(ARGV[2])
local function acquitted(row, token, generation, attempt)
  if not row or row.generation ~= generation or row.crashes == 0 then return false end
  if row.token <= token or row.token > attempt + believed then return false end
  if row.state == 'claimed' then return row.attempt == attempt end
  return row.state == 'free' and row.attempt == attempt - 1
end
local answers = {}
for i, key in ipairs(KEYS) do
  local at = i * 3
  local row = read(redis.call('GET', key))
  if acquitted(row, tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])) then
    row.crashes = row.crashes - 1
    keep(key, row, now, row.state == 'claimed' and ABANDONED or ENDED)
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
`)

/** KEYS: rows. ARGV: now, until, then a token for each key. */
export const RENEW = scriptOf(`${ROW}
local now, untl = tonumber(ARGV[1]), tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
  local row = read(redis.call('GET', key))
  if row and row.state == 'claimed' and row.token == tonumber(ARGV[i + 2]) then
    row.untl = untl
    keep(key, row, now, ABANDONED)
  end
end
`)

/**
 * KEYS: the board's hash, its counter of versions. ARGV: entry, value, now, until, the version wanted or nothing.
 * A field is `version until value`. Entries whose time has long been over are wiped off now and then.
 */
export const POST = scriptOf(`
local board, counter = KEYS[1], KEYS[2]
local entry, value, now, untl, wanted = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
if wanted ~= '' then
  local current = '0'
  local text = redis.call('HGET', board, entry)
  if text then
    local version, ends = string.match(text, '^(%d+) (%-?%d+) ')
    if tonumber(ends) > now then current = version end
  end
  if current ~= wanted then return 0 end
end
local version = redis.call('INCR', counter)
redis.call('HSET', board, entry, string.format('%.0f', version) .. ' ' .. untl .. ' ' .. value)
if version % 100 == 0 then
  local fields = redis.call('HGETALL', board)
  for i = 1, #fields, 2 do
    local ends = string.match(fields[i + 1], '^%d+ (%-?%d+) ')
    if tonumber(ends) < now - 3600000 then redis.call('HDEL', board, fields[i]) end
  end
end
return 1
`)
