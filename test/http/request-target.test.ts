import test from 'ava'
import fc from 'fast-check'
import { guardTarget, isHost, originForm } from '../../composition/runtime/http/request/request-target.ts'

const refusedHosts = [
  '',
  '[',
  'a b',
  'a/path',
  'a?x',
  'a#y',
  'a@b',
  'x:99999',
  'a|b',
  '[::1',
  'x:',
  'x:1:2',
  'é',
  'a\\b',
  '::1',
  'a,b',
]
for (const host of refusedHosts) {
  test(`the host ${JSON.stringify(host)} is refused`, (t) => t.false(guardTarget([host], '/api/v1/x').ok))
}

for (const host of [
  'localhost',
  'localhost:3000',
  '127.0.0.1',
  '127.0.0.1:80',
  '[::1]',
  '[::1]:3000',
  'moorage.example.com',
  'a_b.internal',
]) {
  test(`the host ${host} is taken`, (t) => t.true(guardTarget([host], '/api/v1/x').ok))
}

test('no host, and two hosts, are refused', (t) => {
  t.false(guardTarget([], '/x').ok)
  t.false(guardTarget(['a', 'b'], '/x').ok)
})

const refusedTargets = [
  'http://other/x',
  '*',
  '',
  '/a/../b',
  '/a/%2e%2e/b',
  '/a/%2E./b',
  '/..',
  '/a/.',
  '/a\\b',
  '/a%5cb',
  '/a%2fb',
  '/a%2Fb',
  '/a%00b',
  '/a\0b',
  '/a b',
  '/é',
  '/a%zz',
  '/a%',
  '//x',
  '/a//b',
  '/a#b',
  '/a%0d%0ab',
  '/x?a=%zz',
]
for (const target of refusedTargets) {
  test(`the target ${JSON.stringify(target)} is refused`, (t) => t.false(guardTarget(['localhost'], target).ok))
}

test('a target in absolute-form is read as its path, and names the host', (t) => {
  t.deepEqual(originForm('http://a.example:81/x/?y=http://z'), { authority: 'a.example:81', target: '/x/?y=http://z' })
  t.deepEqual(originForm('HTTPS://a'), { authority: 'a', target: '/' })
  t.deepEqual(originForm('http://a?x'), { authority: 'a', target: '/?x' })
  for (const target of ['/x', '*', '', '//a/x', 'http:///x', 'ftp://a/x', 'a:443'])
    t.deepEqual(originForm(target), { authority: undefined, target })
})

test("the receiver's part stays unchanged, and the prefix is validated", (t) => {
  const below =
    (from: number, isChecked = true) =>
    () => ({ from, isChecked, ownsQuery: isChecked })
  t.like(guardTarget(['h'], '/p/x//y/%2f/?q=%', below(2)), { ok: true, path: '/p/x//y/%2f/', query: 'q=%' })
  for (const target of ['/../x', '/%2f/x', '/p/x\\y', '/p/x y', '/p/é'])
    t.false(guardTarget(['h'], target, below(target.startsWith('/p') ? 2 : target.length - 2)).ok, target)
  for (const target of ['/p/x//y', '/p/%2f', '/p/../x', '/p?q=%'])
    t.false(guardTarget(['h'], target, below(2, false)).ok, target)
})

test('one trailing slash is dropped, the query kept as it is', (t) => {
  t.deepEqual(guardTarget(['h'], '/api/v1/users/?q=a%20b&q=c'), {
    ok: true,
    path: '/api/v1/users',
    query: 'q=a%20b&q=c',
  })
  t.deepEqual(guardTarget(['h'], '/'), { ok: true, path: '/', query: '' })
})

test('an accepted target is the same to a URL parser', (t) => {
  const piece = fc.constantFrom(
    'a',
    '.',
    '..',
    '%2e',
    '%2f',
    '%5c',
    '/',
    '\\',
    '?',
    '#',
    '%',
    '%00',
    ';',
    '@',
    ':',
    ' ',
    '//',
    'api',
    'v1',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const guarded = guardTarget(['localhost'], `/${pieces.join('')}`)
      if (!guarded.ok) return true
      const seen = new URL(`http://localhost${guarded.path}`)
      return seen.pathname === guarded.path && seen.hostname === 'localhost'
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

test('an accepted host adds no path, query or user to a URL', (t) => {
  const character = fc.constantFrom(...'abz09.-_:[]/?#@\\% ,|')
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (host) => {
      if (!isHost(host)) return true
      const seen = new URL(`http://${host}/p`)
      return seen.pathname === '/p' && seen.search === '' && seen.hash === '' && seen.username === ''
    }),
    { numRuns: 3000 },
  )
  t.pass()
})
