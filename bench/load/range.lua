-- Asks a view for the 25 documents from a random key on; keys are 7 apart, as corpus/make_docs.py makes them.
require "common"

function request()
  local first = 1300000000 + 7 * math.random(0, count - 26)
  return wrk.format("GET", string.format(
    "/%s/_design/range/_view/created?start_key=%d&limit=25&include_docs=true", database, first))
end
