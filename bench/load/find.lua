-- Asks for documents by selector, again and again.
require "common"

function request()
  return wrk.format("POST", "/" .. database .. "/_find", nil, os.getenv("QUERY"))
end
