import test from 'ava'
import fc from 'fast-check'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { descriptorOf, humanised, iconOf, pictureTypeOf } from '../../../core/packages/views/descriptors.ts'

test('a Chart.yaml becomes a descriptor', (t) => {
  const metadata = {
    apiVersion: 'v2',
    name: 'ferry',
    version: '1.0.0',
    type: 'application',
    description: 'Ferries',
    icon: 'https://example.com/Ferry.PNG?size=2#x',
    home: 'https://example.com',
    sources: ['https://git.example.com/ferry', 'javascript:alert(1)'],
    keywords: ['boat', 7, ''],
    maintainers: [
      { name: 'Ann', email: 'ann@example.com' },
      { url: 'ftp://x' },
      'Bob',
      { name: 'Cem', url: 'https://cem.example.com' },
    ],
  }
  t.deepEqual(descriptorOf(metadata), {
    type: 'application',
    description: 'Ferries',
    icons: [{ src: 'https://example.com/Ferry.PNG?size=2#x', type: 'image/png' }],
    maintainers: [
      { name: 'Ann', email: 'ann@example.com' },
      { name: 'Cem', url: 'https://cem.example.com' },
    ],
    keywords: ['boat'],
    links: [
      { description: 'website', url: 'https://example.com' },
      { description: 'source', url: 'https://git.example.com/ferry' },
    ],
  })
  t.deepEqual(descriptorOf({ name: 'bare', version: '1' }), {})
})

const icons: readonly (readonly [string, unknown, unknown])[] = [
  ['an SVG in the address', 'https://x/y.svg', { src: 'https://x/y.svg', type: 'image/svg+xml' }],
  ['no extension', 'https://x/logo', { src: 'https://x/logo' }],
  ['an extension of the query alone', 'https://x/logo?file=a.png', { src: 'https://x/logo?file=a.png' }],
  ['an extension that is no picture', 'https://x/logo.exe', { src: 'https://x/logo.exe' }],
  [
    'a data URI',
    'data:image/png;base64,iVBORw0KGgo=',
    { src: 'data:image/png;base64,iVBORw0KGgo=', type: 'image/png' },
  ],
  [
    'a data URI of SVG',
    'data:image/SVG+xml;utf8,<svg/>',
    { src: 'data:image/SVG+xml;utf8,<svg/>', type: 'image/svg+xml' },
  ],
  ['a data URI of a page', 'data:text/html,<script>alert(1)</script>', undefined],
  ['a script', 'javascript:alert(1)', undefined],
  ['a file', 'file:///etc/passwd', undefined],
  ['a path', '/logo.png', undefined],
  ['nothing', '', undefined],
  ['a number', 7, undefined],
  ['a name of Object', 'https://x/y.constructor', { src: 'https://x/y.constructor' }],
]
for (const [what, given, expected] of icons)
  test(`an icon is shown by its address: ${what}`, (t) => t.deepEqual(iconOf(given as Json), expected as never))

test('the type of a picture follows the last extension alone', (t) => {
  t.is(pictureTypeOf('a.png'), 'image/png')
  t.is(pictureTypeOf('a.png.txt'), undefined)
  t.is(pictureTypeOf('png'), undefined)
})

test('addresses in any Chart.yaml lead only to the web', (t) => {
  const scheme = fc.constantFrom(
    'https://',
    'http://',
    'javascript:',
    'data:',
    'data:image/png,',
    'file://',
    'ftp://',
    ' https://',
    'HTTPS://',
    '',
  )
  const address = fc.tuple(scheme, fc.string()).map(([start, rest]) => start + rest)
  const odd = fc.oneof(
    address,
    fc.jsonValue().map((value) => value as Json),
  )
  const metadata = fc.record({
    description: odd,
    icon: odd,
    home: odd,
    sources: fc.oneof(fc.array(odd), odd),
    keywords: fc.oneof(fc.array(odd), odd),
    type: odd,
    maintainers: fc.oneof(fc.array(fc.oneof(fc.record({ name: odd, url: odd, email: odd }), odd)), odd),
  })
  fc.assert(
    fc.property(metadata, (given) => {
      const made = descriptorOf(given as unknown as FreeObject)
      for (const url of [...(made.links ?? []), ...(made.maintainers ?? [])].map((each) => each.url))
        if (url !== undefined) t.regex(url, /^https?:\/\/\S+$/i)
      for (const { src, type } of made.icons ?? []) {
        t.regex(src, /^(?:https?:\/\/|data:image\/)/i)
        if (type !== undefined) t.regex(type, /^image\//)
      }
      for (const word of made.keywords ?? []) t.is(typeof word, 'string')
    }),
  )
})

const titles: readonly (readonly [string, string])[] = [
  ['kubedb-community', 'Kubedb Community'],
  ['kube_ui.server', 'Kube Ui Server'],
  ['a', 'A'],
  ['', ''],
  ['--x--', 'X'],
  ['already Titled', 'Already Titled'],
  ['mysqlDB', 'MysqlDB'],
  ['über-boot', 'Über Boot'],
  ['2fa-proxy', '2fa Proxy'],
]
for (const [name, title] of titles)
  test(`${JSON.stringify(name)} as a title is ${JSON.stringify(title)}`, (t) => t.is(humanised(name), title))
