import test from 'ava'
import fc from 'fast-check'
import { joinListPages, readListPage } from '../../core/hubs/spokes/managed-clusters.ts'
import { anyText } from '../support/any-text.ts'

/**
 * JSON text as a hub may write it: any keys, also those that look like the list's own, big integers, escapes and white
 * space.
 */
const { value: jsonText } = fc.letrec<{ value: string; leaf: string }>((tie) => {
  const space = fc.constantFrom('', ' ', '\n\t')
  const escaped = anyText().map((text) => JSON.stringify(text).replaceAll('a', '\\u0061'))
  const key = fc.oneof(
    fc.constantFrom('"items"', '"metadata"', '"continue"', '"7"', '"07"', '"__proto__"', '"a\\"b"', '"]}"'),
    escaped,
  )
  const number = fc.oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.constantFrom('1.0', '-0', '1e3', '0.10'),
  )
  return {
    leaf: fc.oneof(escaped, number, fc.constantFrom('true', 'false', 'null', '""', '"\\\\"', '"[,{"')),
    value: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'json' },
      tie('leaf'),
      fc
        .tuple(space, fc.array(tie('value'), { maxLength: 4, depthIdentifier: 'json' }))
        .map(([gap, parts]) => `[${gap}${parts.join(`${gap},${gap}`)}${gap}]`),
      fc
        .tuple(space, fc.array(fc.tuple(key, tie('value')), { maxLength: 4, depthIdentifier: 'json' }))
        .map(
          ([gap, parts]) =>
            `{${gap}${parts.map(([name, part]) => `${name}${gap}:${gap}${part}`).join(`,${gap}`)}${gap}}`,
        ),
    ),
  }
})

const page = (items: readonly string[], place: string, gap = ''): string =>
  `{${gap}"kind":"List",${gap}"metadata":{"resourceVersion":"9007199254740993"${place}},"extra":12345678901234567890${gap},"items":${gap}[${items.join(`,${gap}`)}]${gap}}`

test('the items of all pages are in the list, each with its own text', (t) => {
  const pages = fc.array(fc.array(jsonText, { maxLength: 4 }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(pages, fc.constantFrom('', ' ', '\n  '), (parts, gap) => {
      const texts = parts.map((items, index) =>
        page(items, index < parts.length - 1 ? ',"continue":"x","remainingItemCount":7' : '', gap),
      )
      const joined = joinListPages(texts.map(readListPage))
      JSON.parse(joined)
      const expected =
        parts.length === 1
          ? texts[0]
          : `{"kind":"List","metadata":{"resourceVersion":"9007199254740993"},"extra":12345678901234567890,"items":[${parts
              .map((items) => items.join(`,${gap}`))
              .filter((items) => items !== '')
              .join(',')}]}`
      return joined === expected
    }),
  )
  t.pass()
})

test('the generated text is JSON', (t) => {
  fc.assert(fc.property(jsonText, (text) => (JSON.parse(text), true)))
  t.pass()
})

test('other keys keep their order, and metadata loses only the page position', (t) => {
  const first =
    '{"items":[1],"metadata":{"continue":"a","z":"\\u00e9","remainingItemCount":1,"a":{"continue":"kept"}},"apiVersion":"v1"}'
  t.is(
    joinListPages([first, '{"apiVersion":"v1","items":[ 2 , 3 ]}', '{"items":[]}', '{"items":null}'].map(readListPage)),
    '{"items":[1,2 , 3],"metadata":{"z":"\\u00e9","a":{"continue":"kept"}},"apiVersion":"v1"}',
  )
})
