// Evaluates to a maker of what functions have that answer requests (`provides`, `registerType`, `start`, `send` and
// `getRow`) and of the drivers that call them.
//
// A list function pulls rows while it runs: `nextRow` of the host gives the next one, or null. Its output goes to the
// host as well: `open` gets the response without its body, as JSON text, and `write` the body piece by piece.
(function (prelude, nextRow, open, write) {
    'use strict';
    const { json, call, failure, refusal, rethrowIfExhausted, restore } = prelude;
    const { isArray } = Array;
    const { keys } = Object;
    const MapType = Map;
    const number = parseFloat;
    const text = String;

    // Names of types that every function knows, each with its types; the first one is that of answers.
    const KNOWN = [
        ['all', '*/*'],
        ['text', 'text/plain; charset=utf-8', 'txt'],
        ['html', 'text/html; charset=utf-8'],
        ['xhtml', 'application/xhtml+xml', 'xhtml'],
        ['xml', 'application/xml', 'text/xml', 'application/x-xml'],
        ['js', 'text/javascript', 'application/javascript', 'application/x-javascript'],
        ['css', 'text/css'],
        ['ics', 'text/calendar'],
        ['csv', 'text/csv'],
        ['rss', 'application/rss+xml'],
        ['atom', 'application/atom+xml'],
        ['yaml', 'application/x-yaml', 'text/yaml'],
        ['multipart_form', 'multipart/form-data'],
        ['url_encoded_form', 'application/x-www-form-urlencoded'],
        ['json', 'application/json', 'text/x-json'],
    ];

    // Output goes to the host in so many characters, or pieces.
    const ENOUGH = 1 << 14;
    const MANY = 1 << 10;

    // The running call: types by name, names by type, what `provides` was given, and the type that was chosen.
    let types;
    let names;
    let provided;
    let chosen;
    // Its output: pieces, the characters of all, and how many of them the client gets whatever comes.
    let pieces;
    let length;
    let passed;
    // The response without its body, which holds from the first piece that is passed on.
    let beginning;
    let isOpen;
    let isList;
    let hasAsked;
    let isOver;

    function begin(lists) {
        types = new MapType();
        names = new MapType();
        for (let i = 0; i < KNOWN.length; i++) registerType(...KNOWN[i]);
        provided = [];
        chosen = undefined;
        isOpen = hasAsked = isOver = false;
        isList = lists;
        beginning = {};
        take();
    }

    function end() {
        begin(false);
        restore();
    }

    function registerType(name, ...given) {
        types.set(name, given);
        for (let i = 0; i < given.length; i++) names.set(given[i], name);
    }

    function provides(name, fun) {
        provided.push([name, fun]);
    }

    function start(response) {
        beginning = response || {};
    }

    function send(chunk) {
        const piece = text(chunk.toString());
        pieces.push(piece);
        length += piece.length;
    }

    // The output so far, which is forgotten here.
    function take() {
        const all = pieces === undefined ? '' : pieces.join('');
        pieces = [];
        length = passed = 0;
        return all;
    }

    // From here on no error takes the output back.
    function pass() {
        passed = pieces.length;
        if (passed > 0 && !isOpen) {
            openNow();
            flush();
        }
        if (length >= ENOUGH || passed >= MANY) flush();
    }

    function openNow() {
        isOpen = true;
        open(json(beginning));
    }

    function flush() {
        const all = take();
        if (all !== '') write(all.toWellFormed());
    }

    function getRow() {
        if (!isList || isOver) return null;
        if (!hasAsked) {
            hasAsked = true;
            beginning = withType(beginning);
        }
        pass();
        const row = nextRow();
        isOver = row === null;
        return row;
    }

    // The response with the type that was chosen, unless it has one of its own.
    function withType(response) {
        if (!chosen) return response;
        const headers = { ...response.headers };
        headers['Content-Type'] = headers['Content-Type'] || chosen;
        return { ...response, headers };
    }

    // `text/html; level=1; q=0.5` or `text/*`.
    function parseType(given) {
        const parts = given.split(';');
        const parameters = new MapType();
        for (let i = 0; i < parts.length; i++) {
            const pair = parts[i].split('=');
            if (pair.length === 2) parameters.set(pair[0].trim(), pair[1].trim());
        }
        const whole = parts[0].trim();
        const both = (whole === '*' ? '*/*' : whole).split('/');
        const quality = number(parameters.get('q'));
        return {
            type: both[0],
            subtype: both[1],
            parameters,
            quality: quality >= 0 && quality <= 1 ? quality : 1,
        };
    }

    // How well a range fits a type; -1 if it does not.
    function fitness(type, range) {
        const fits = (one, other) => one === other || one === '*' || other === '*';
        if (!fits(type.type, range.type) || !fits(type.subtype, range.subtype)) return -1;
        let found = (type.type === range.type ? 100 : 0) + (type.subtype === range.subtype ? 10 : 0);
        type.parameters.forEach((value, name) => {
            if (name !== 'q' && range.parameters.get(name) === value) found += 1;
        });
        return found;
    }

    // Of the types the one that the header fits best; the last one of several. '' if there is none.
    function bestOf(candidates, accept) {
        const ranges = accept.split(',').map(parseType);
        let best = { fit: -2, quality: 0, name: '' };
        for (let i = 0; i < candidates.length; i++) {
            const type = parseType(text(candidates[i]));
            const found = { fit: -1, quality: 0, name: candidates[i] };
            for (let j = 0; j < ranges.length; j++) {
                const fit = fitness(type, ranges[j]);
                if (fit > found.fit) {
                    found.fit = fit;
                    found.quality = ranges[j].quality;
                }
            }
            if (found.fit > best.fit || (found.fit === best.fit && found.quality >= best.quality)) {
                best = found;
            }
        }
        return best.quality > 0 ? best.name : '';
    }

    function runProvided(request) {
        const accept = request.headers.Accept;
        const wanted = request.query && request.query.format;
        let name;
        if (wanted || !accept) {
            name = wanted || provided[0][0];
            chosen = types.get(name)[0];
        } else {
            // So that the first of several counts.
            provided.reverse();
            let candidates = [];
            for (let i = 0; i < provided.length; i++) {
                candidates = candidates.concat(types.get(provided[i][0]) || []);
            }
            chosen = bestOf(candidates, text(accept));
            name = names.get(chosen);
        }
        const found = provided.find((entry) => entry[0] === name);
        if (found !== undefined) return call(found[1]);
        const known = provided.map((entry) => (types.get(entry[0]) || [entry[0]]).join(', '));
        const words = `Content-Type ${accept || name} not supported, try one of: `;
        throw ['error', 'not_acceptable', words + known.join(', ')];
    }

    function wrap(response) {
        return typeof response === 'string' ? { body: response } : response;
    }

    function shown(doc, request) {
        let response = wrap(call(undefined, doc, request) || {});
        if (typeof response !== 'object' || isArray(response)) {
            throw ['error', 'render_error', 'undefined response from show function'];
        }
        if (pieces.length > 0) {
            const headers = { ...response.headers };
            keys(beginning).forEach((name) => {
                headers[name] = beginning[name];
            });
            response = { ...response, headers, body: take() + (response.body || '') };
        }
        if (provided.length > 0) {
            const before = response.body || '';
            const more = wrap(runProvided(request) || {});
            response = withType({ ...response, body: before + take() + (more.body || '') });
        }
        return response;
    }

    function listed(head, request) {
        let tail = call(undefined, head, request);
        if (provided.length > 0) tail = runProvided(request);
        if (!hasAsked) getRow();
        if (tail !== undefined && tail !== null) send(typeof tail === 'object' ? json(tail) : tail);
        pass();
        if (!isOpen) openNow();
        flush();
    }

    // Answers '=' and a result, or a letter for the kind of failure and its text.
    const drivers = {
        show(docOrNull, request) {
            const isAboutDocument = request.path.length > 5;
            begin(false);
            try {
                return '=' + json(shown(docOrNull, request));
            } catch (error) {
                rethrowIfExhausted(error);
                const isMissing = docOrNull === null && isAboutDocument;
                return isMissing ? 'E["not_found","document not found"]' : failure(error);
            } finally {
                end();
            }
        },
        list(head, request) {
            begin(true);
            try {
                listed(head, request);
                return '=';
            } catch (error) {
                rethrowIfExhausted(error);
                pieces.length = passed;
                flush();
                return failure(error);
            } finally {
                end();
            }
        },
        rewrite(request) {
            try {
                const result = call(undefined, request);
                if (!result) return '?';
                return '=' + json(typeof result === 'string' ? { path: result } : result);
            } catch (error) {
                rethrowIfExhausted(error);
                const refused = refusal(error);
                return refused[0] === '!' ? failure(error) : refused;
            } finally {
                restore();
            }
        },
    };
    return { helpers: { provides, registerType, start, send, getRow }, drivers };
})
