-- Replaces a document, if it is still in the revision that the writer has read.
--
-- KEYS[1]  the stored name of the document: its revision, a newline, its text
-- ARGV     the revision that was read, '0' for none; the next document in the same form
-- reply    '1' done, '0' another revision is there, '!' what is there is no document
-- Go       Document.Write in document.go
local call = redis.call
local try = redis.pcall

--- include get

local value = get(KEYS[1])
if value == nil then return '!' end
local revision = '0'
if value then revision = string.match(value, '^(%d+)\n') end
if not revision then return '!' end
if revision ~= ARGV[1] then return '0' end
call('SET', KEYS[1], ARGV[2])
return '1'
