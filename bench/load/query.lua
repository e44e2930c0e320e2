-- Asks one query again and again.
require "common"

local query = "/" .. database .. "/" .. (os.getenv("QUERY") or "")

function request()
  return wrk.format("GET", query)
end
