-- What the scripts for wrk share: the login, one line of JSON at the end, random numbers.
-- Environment: LOGIN (base64 of name:password), DATABASE, COUNT (documents in it), QUERY (a path).
login, database = os.getenv("LOGIN"), os.getenv("DATABASE")
count = tonumber(os.getenv("COUNT") or "0")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init()
  math.randomseed(7 + number * 7919)
  wrk.headers["Authorization"] = "Basic " .. login
  wrk.headers["Content-Type"] = "application/json"
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "seconds": %f, "wrong": %d, "p50": %f, "p99": %f}\n',
    summary.requests, summary.duration / 1e6,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
