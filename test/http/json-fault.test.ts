import test from 'ava'
import fc from 'fast-check'
import { jsonFault } from '../../composition/runtime/http/request/json-fault.ts'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('the first fault is named by line and column', (t) => {
  for (const [text, place] of [
    ['', [1, 1]],
    ['{"a": 1,}', [1, 9]],
    ['{\n  "a": tru\n}', [2, 8]],
    ['[1, 2', [1, 6]],
    ['{"a" 1}', [1, 6]],
    ["{'a': 1}", [1, 2]],
    ['{"a": "x\ty"}', [1, 9]],
    ['"\\x"', [1, 2]],
    ['01', [1, 2]],
    ['[]]', [1, 3]],
    ['{"a":1}\n\nx', [3, 1]],
    ['[,1]', [1, 2]],
  ] as const) {
    const [line, column] = place
    t.deepEqual(jsonFault(text), { line, column }, text)
  }
})

test('there is a fault exactly where JSON.parse finds one', (t) => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '"\\u00e9"',
    '\\',
    '-',
    '0',
    '1.5e3',
    '.',
    'true',
    'nul',
    ' ',
    '\n',
    '\u0001',
    'é',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
        fc.json(),
      ),
      (text) => (jsonFault(text) === undefined) === isJson(text),
    ),
    { numRuns: 3_000 },
  )
  t.pass()
})

test('a long text takes no stack', (t) => {
  t.is(jsonFault(`"${'x'.repeat(2_000_000)}"`), undefined)
  t.deepEqual(jsonFault('['.repeat(200_000)), { line: 1, column: 200_001 })
})
