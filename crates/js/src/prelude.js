// Evaluates to a function that runs once in every new engine and returns the driver: the functions that Rust calls.
//
// Everything the driver needs is captured here, before foreign code runs, and everything that
// foreign code shares between two documents is frozen here or put back by `restore`.
(function (global, makeRendering) {
    'use strict';
    const { stringify } = JSON;
    const { freeze, keys, getPrototypeOf, getOwnPropertyDescriptors, defineProperty } = Object;
    const { apply, ownKeys } = Reflect;
    const { isArray } = Array;
    const ErrorType = Error;
    const InternalErrorType = InternalError;
    const RangeErrorType = RangeError;
    const MapType = Map;
    const FunctionType = Function;
    const { hasOwn } = Object;
    const text = String;

    // What the running call has said so far, one line per item:
    //   KEY \n VALUE   a row, both as JSON text
    //   #TEXT          a call of log(), as a JSON string
    //   .              this function is done, its rows hold
    //   !TEXT          this function failed, its rows do not hold; reason as a JSON string
    let said = '';

    function json(value) {
        const written = stringify(value);
        return written === undefined ? 'null' : written;
    }

    function emit(key, value) {
        said += json(key) + '\n' + json(value) + '\n';
    }

    function log(message) {
        said += '#' + stringify(typeof message === 'string' ? message : json(message)) + '\n';
    }

    function sum(values) {
        let total = 0;
        for (let i = 0; i < values.length; i++) total += values[i];
        return total;
    }

    // What `require` looks into: the design document, or the part of it that views may use.
    let root = {};
    // Modules by their path, from before they run, so that a cycle finds what is there by then.
    const modules = new MapType();
    // Globals that modules made (many forget `var`), which last as long as they do.
    const made = { __proto__: null };

    // The names from the root to what `path` means in the module at `from`, which is a list of such
    // names, or null outside of modules.
    function resolve(path, from) {
        const parts = text(path).split('/');
        const relative = parts[0] === '.' || parts[0] === '..';
        const steps = relative && from ? from.slice(0, -1) : [];
        for (let i = 0; i < parts.length; i++) {
            if (parts[i] === '..') {
                if (steps.length === 0) throw invalidPath(path, 'it leads out of the design document');
                steps.pop();
            } else if (parts[i] !== '.') {
                steps.push(parts[i]);
            }
        }
        return steps;
    }

    function invalidPath(path, why) {
        return new ErrorType('invalid_require_path: ' + stringify(text(path)) + ': ' + why);
    }

    function sourceAt(path, steps) {
        let found = root;
        for (let i = 0; i < steps.length; i++) {
            if (found === null || typeof found !== 'object' || !hasOwn(found, steps[i])) {
                throw invalidPath(path, 'there is no ' + stringify(steps.slice(0, i + 1).join('/')));
            }
            found = found[steps[i]];
        }
        if (typeof found !== 'string') throw invalidPath(path, 'a module must be a string');
        return found;
    }

    function load(path, from) {
        const steps = resolve(path, from);
        const id = steps.join('/');
        const known = modules.get(id);
        if (known !== undefined) return known.exports;
        const source = sourceAt(path, steps);
        const module = { id, exports: {} };
        modules.set(id, module);
        const before = new MapType();
        keys(global).forEach((name) => before.set(name, true));
        try {
            const body = new FunctionType('module', 'exports', 'require', source);
            body.call({}, module, module.exports, (inner) => load(inner, steps));
        } catch (error) {
            modules.delete(id);
            throw error;
        } finally {
            keys(global).forEach((name) => {
                if (!before.has(name)) made[name] = global[name];
            });
        }
        return module.exports;
    }

    function require(path) {
        return load(path, null);
    }

    // What functions have that answer requests: see `render.js`. Other engines do without.
    const rendering = makeRendering && makeRendering({
        json,
        failure,
        refusal,
        rethrowIfExhausted,
        restore,
        call: (given, ...passed) => apply(given || functions[0], root, passed),
    });

    // What scripts may assign to (many forget `var`), put back after every call.
    const helpers = { emit, log, sum, isArray, toJSON: json, require, ...(rendering || {}).helpers };
    const names = keys(helpers);

    function restore() {
        said = '';
        for (let i = 0; i < names.length; i++) global[names[i]] = helpers[names[i]];
        const leaked = keys(global);
        for (let i = 0; i < leaked.length; i++) delete global[leaked[i]];
        const lasting = keys(made);
        for (let i = 0; i < lasting.length; i++) global[lasting[i]] = made[lasting[i]];
    }

    function describe(error) {
        try {
            return error instanceof ErrorType || typeof error !== 'object' ? text(error) : json(error);
        } catch {
            return 'an error that cannot be shown';
        }
    }

    // A function that ran out of memory says nothing about its document: the whole call fails.
    // The engine throws null when there is no memory even for the error, unless a function does so itself.
    let throwsNull = false;
    function rethrowIfExhausted(error) {
        if (error === null && !throwsNull) throw error;
        if (error instanceof InternalErrorType && error.message === 'out of memory') throw error;
    }

    const functions = [];

    const driver = {
        ...(rendering || {}).drivers,
        // Before any function is added.
        setRoot(object) {
            root = object;
            freezeAll([root]);
        },
        add(candidate, canThrowNull) {
            restore();
            if (typeof candidate !== 'function') return false;
            throwsNull = throwsNull || canThrowNull;
            functions[functions.length] = candidate;
            return true;
        },
        map(doc, chosen) {
            said = '';
            const count = chosen === null ? functions.length : chosen.length;
            for (let i = 0; i < count; i++) {
                const before = said;
                try {
                    (0, functions[chosen === null ? i : chosen[i]])(doc);
                    said += '.\n';
                } catch (error) {
                    rethrowIfExhausted(error);
                    said = before + '!' + stringify(describe(error)) + '\n';
                }
            }
            const output = said;
            restore();
            return output;
        },
        // The next four answer '=' and a result, or a letter for the kind of failure and its text.
        reduce(index, keysOrNull, values, rereduce) {
            try {
                return '=' + json((0, functions[index])(keysOrNull, values, rereduce));
            } catch (error) {
                rethrowIfExhausted(error);
                return '!' + describe(error);
            } finally {
                restore();
            }
        },
        filter(doc, request) {
            try {
                return functions[0].call(root, doc, request) ? '=true' : '=false';
            } catch (error) {
                rethrowIfExhausted(error);
                return '!' + describe(error);
            } finally {
                restore();
            }
        },
        update(docOrNull, request) {
            try {
                const result = functions[0].call(root, docOrNull, request);
                const response = result[1];
                const said = typeof response === 'string' ? { body: response } : response;
                if (typeof said !== 'object' || said === null) return '?';
                return '=' + json([result[0], said]);
            } catch (error) {
                rethrowIfExhausted(error);
                return failure(error);
            } finally {
                restore();
            }
        },
        validate(doc, previous, user, security) {
            try {
                functions[0].call(root, doc, previous, user, security);
                return '=';
            } catch (error) {
                rethrowIfExhausted(error);
                return refusal(error);
            } finally {
                restore();
            }
        },
    };

    // What CouchDB's functions may throw: ['error', word, reason], or {error: word, reason: reason}.
    function failure(error) {
        if (error !== null && typeof error === 'object') {
            if (error[0] === 'error' || error[0] === 'fatal') return 'E' + json([error[1], error[2]]);
            if (error.error && error.reason) return 'E' + json([error.error, error.reason]);
        }
        return '!' + describe(error);
    }

    function refusal(error) {
        if (error !== null && typeof error === 'object') {
            if (error.forbidden !== undefined) return 'F' + reason(error.forbidden);
            if (error.unauthorized !== undefined) return 'U' + reason(error.unauthorized);
        }
        return '!' + describe(error);
    }

    function reason(value) {
        return typeof value === 'string' ? value : json(value);
    }

    // A frozen prototype would make `object.toString = ...` do nothing on every object. So the
    // members of these become accessors whose setter makes the member an own one.
    function allowOverriding(prototype) {
        const members = getOwnPropertyDescriptors(prototype);
        for (const name of ownKeys(members)) {
            const member = members[name];
            if (!member.configurable || !('value' in member)) continue;
            defineProperty(prototype, name, {
                enumerable: false,
                configurable: false,
                get() {
                    return member.value;
                },
                set(value) {
                    if (this === prototype) return;
                    defineProperty(this, name, {
                        value,
                        enumerable: true,
                        writable: true,
                        configurable: true,
                    });
                },
            });
        }
    }

    // The engine walks over the holes of an array without heeding the limit on time. More items than
    // this do not fit into its memory, so a longer array is one of holes.
    const MOST_ITEMS = 1 << 22;
    const WALKING = [
        'concat', 'copyWithin', 'flat', 'join', 'reverse', 'shift', 'slice', 'sort', 'splice',
        'toLocaleString', 'toString', 'unshift',
    ];

    function checkLength(candidate, isDeep) {
        if (candidate === null || typeof candidate !== 'object') return;
        if (candidate.length > MOST_ITEMS) throw new RangeErrorType('Invalid array length');
        if (isDeep && isArray(candidate)) {
            for (let i = 0; i < candidate.length; i++) checkLength(candidate[i], true);
        }
    }

    function checkingLength(name) {
        const walk = Array.prototype[name];
        const { [name]: value } = {
            [name](...given) {
                checkLength(this, name === 'flat');
                for (let i = 0; i < given.length; i++) checkLength(given[i], false);
                return apply(walk, this, given);
            },
        };
        defineProperty(value, 'length', { value: walk.length });
        defineProperty(Array.prototype, name, { value, writable: true, configurable: true });
    }

    function freezeAll(roots) {
        const seen = new MapType();
        const waiting = roots;
        while (waiting.length > 0) {
            const object = waiting.pop();
            if (object === null || object === undefined || object === global) continue;
            if (typeof object !== 'object' && typeof object !== 'function') continue;
            if (seen.has(object)) continue;
            seen.set(object, true);
            waiting.push(getPrototypeOf(object));
            const members = getOwnPropertyDescriptors(object);
            for (const name of ownKeys(members)) {
                const { value, get, set } = members[name];
                waiting.push(value, get, set);
            }
            freeze(object);
        }
    }

    for (const name of names) {
        defineProperty(global, name, {
            value: helpers[name],
            enumerable: false,
            writable: true,
            configurable: false,
        });
    }
    WALKING.forEach(checkingLength);
    // JSON.stringify asks every object for toJSON, and only where that runs a function does it heed the
    // limit on time: an array that holds another twice, and so on, has an endless text.
    defineProperty(Object.prototype, 'toJSON', {
        value: undefined,
        enumerable: false,
        writable: true,
        configurable: true,
    });
    allowOverriding(Object.prototype);
    for (const name of ownKeys(global)) {
        const { value } = Object.getOwnPropertyDescriptor(global, name);
        const inherits = typeof value === 'function' && value.prototype;
        if (inherits && (value === ErrorType || getPrototypeOf(value) === ErrorType)) {
            allowOverriding(value.prototype);
        }
    }
    const roots = [];
    for (const name of ownKeys(global)) {
        const member = Object.getOwnPropertyDescriptor(global, name);
        roots.push(member.value);
        if (names.includes(name) || name === 'Promise' || !member.configurable) continue;
        defineProperty(global, name, { writable: false, configurable: false });
    }
    // Reachable only through syntax.
    roots.push([][Symbol.iterator]());
    roots.push(''[Symbol.iterator]());
    roots.push(new MapType()[Symbol.iterator]());
    roots.push(new Set()[Symbol.iterator]());
    roots.push('a'.matchAll(/a/g));
    roots.push(function* () {});
    roots.push(async function () {});
    roots.push(async function* () {});
    roots.push((function* () {})());
    freezeAll(roots);
    delete global.Promise;
    return driver;
})
