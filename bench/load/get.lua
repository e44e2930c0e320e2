-- Reads random documents.
require "common"

function request()
  return wrk.format("GET", string.format("/%s/doc%09d", database, math.random(0, count - 1)))
end
