-- Writes new documents of about 1 KB.
require "common"

local written, run = 0, os.time()
local numbers = {}
for i = 1, 40 do numbers[i] = string.format("%.7f", (i * 41.3971) % 1000) end
local body = '{"type":"reading","level":42,"data":[' .. table.concat(numbers, ",") .. '],"note":"'
  .. string.rep("spring thaw silt and clay ", 20) .. '"}'

function request()
  written = written + 1
  local path = string.format("/%s/new-%d-%d-%08d", database, run, number, written)
  return wrk.format("PUT", path, nil, body)
end
