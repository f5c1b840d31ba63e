import test from 'ava'
import { auth, send, server } from './binder.fixture.ts'

test('a list carries its total and absolute links, no credential among them', async (t) => {
  const reply = await send(server, '/things?page=2&limit=20&q=a,b&token=good', { headers: {} })
  t.is(reply.headers.get('x-total-count'), '65')
  const link = reply.headers.get('link') ?? ''
  t.regex(link, /<http:\/\/127\.0\.0\.1:3000\/api\/v1\/things\?page=3&limit=20&q=a%2Cb>; rel="next"/)
  t.regex(link, /page=4&limit=20&q=a%2Cb>; rel="last"/)
  t.false(link.includes('good'))
})

test('a list is whole without page and limit, and a paged one starts at page 1', async (t) => {
  const answer = async (path: string) => {
    const reply = await send(server, path)
    const rows = (await reply.json()) as { readonly name: string }[]
    const [total, size, links] = ['x-total-count', 'x-per-page', 'link'].map((name) => reply.headers.get(name))
    return {
      rows: rows.length,
      first: rows[0]?.name,
      total,
      size,
      rels: [...(links ?? '').matchAll(/rel="(\w+)"/g)].map((match) => match[1]).join(' '),
    }
  }
  t.deepEqual(await answer('/things'), { rows: 65, first: 'thing 0', total: '65', size: null, rels: '' })
  t.deepEqual(await answer('/things?page=1'), {
    rows: 30,
    first: 'thing 0',
    total: '65',
    size: '30',
    rels: 'next last',
  })
  t.deepEqual(await answer('/pages'), { rows: 30, first: 'thing 0', total: '65', size: '30', rels: 'next last' })
  t.deepEqual(await answer('/things?limit=1000'), {
    rows: 50,
    first: 'thing 0',
    total: '65',
    size: '50',
    rels: 'next last',
  })
  t.deepEqual(await answer('/things?limit=1000&page=2'), {
    rows: 15,
    first: 'thing 50',
    total: '65',
    size: '50',
    rels: 'first prev',
  })
  t.deepEqual(await answer('/things?page=99999999999'), {
    rows: 0,
    first: undefined,
    total: '65',
    size: '30',
    rels: 'first prev',
  })
})

test('a long list is sent in one text up to 10,000 items', async (t) => {
  const answer = async (length: number) => {
    const reply = await send(server, `/long?length=${length}`)
    const { ok, data } = (await reply.json()) as {
      readonly ok: boolean
      readonly data: readonly { readonly name: string }[]
    }
    t.true(ok)
    t.deepEqual(
      data,
      Array.from({ length: Math.min(length, 10_000) }, (_, index) => ({ name: `"${index}` })),
    )
    t.is(reply.headers.get('x-total-count'), String(length))
    return reply
  }
  for (const length of [0, 1, 100, 101, 200, 201]) t.is((await answer(length)).headers.get('link'), null)
  const whole = await answer(10_000)
  t.is(whole.headers.get('link'), null)
  t.is(
    (
      await send(server, '/long?length=10000', {
        headers: { ...auth, 'if-none-match': whole.headers.get('etag') ?? '' },
      })
    ).status,
    304,
  )
  const next = /<([^>]+)>; rel="next"/.exec((await answer(10_001)).headers.get('link') ?? '')?.[1] ?? ''
  t.regex(next, /length=10001&page=201&limit=50$/)
  t.deepEqual(((await (await send(server, next.replace(/^.*\/api\/v1/, ''))).json()) as { data: unknown }).data, [
    { name: '"10000' },
  ])
})

for (const query of ['page=0&limit=0', 'page=-1&limit=-1', 'page=abc&limit=abc', 'page=1000000000&limit=1000000000']) {
  test(`${query} is clamped, not refused`, async (t) => t.is((await send(server, `/things?${query}`)).status, 200))
}
