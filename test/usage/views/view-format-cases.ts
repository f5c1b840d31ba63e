import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { monthKey } from '../../../core/usage/month.ts'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { plantInService } from '../planted-months.ts'
import type { ObjectPlan } from '../product-months.ts'
import { monthOfPlans } from '../product-months.ts'
import {
  type Item,
  june,
  org,
  otherOrg,
  plansOf,
  read,
  service,
  summary,
  used,
  viewOf,
  views,
} from './views.fixture.ts'
import { openPatiently } from '../../support/databases.ts'

const fetchBytes = async (path: string, acceptEncoding: string) => {
  const { request } = await import('undici')
  const answer = await request(service.baseUrl + path, {
    headers: { authorization: `token ${service.adminToken}`, 'accept-encoding': acceptEncoding },
  })
  return { encoding: answer.headers['content-encoding'], bytes: new Uint8Array(await answer.body.arrayBuffer()) }
}

/** Cells of RFC 4180. */
const cellsOf = (csv: string): readonly (readonly string[])[] => {
  const rows: string[][] = [[]]
  for (const [, quoted, bare, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted === undefined ? bare! : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

export const declareViewFormatCases = (): void => {
  test('a revision has a strong ETag and is 304 in each form', async (t) => {
    for (const view of views) {
      const path = `${june}/${view}`
      const { headers } = await expectStatus(read(path), 200)
      const etag = String(headers['etag'])
      t.regex(etag, /^"1-final-[^"]+"$/)
      t.is(headers['last-modified'], 'Sat, 04 Jul 2026 00:30:00 GMT')
      for (const held of [
        { 'if-none-match': etag },
        { 'if-none-match': `"x", W/${etag}` },
        { 'if-modified-since': 'Sat, 04 Jul 2026 00:30:00 GMT' },
      ]) {
        const unchanged = await read(path, {}, held)
        t.deepEqual([unchanged.status, unchanged.text], [304, ''], JSON.stringify(held))
      }
      const others: readonly Readonly<Record<string, string>>[] = [
        { accept: 'text/csv' },
        { 'accept-encoding': 'gzip' },
        { 'if-modified-since': 'Sat, 04 Jul 2026 00:29:59 GMT' },
        { 'if-none-match': '"x"', 'if-modified-since': 'Sat, 04 Jul 2026 00:30:00 GMT' },
      ]
      for (const other of others)
        t.is(
          (await read(path, {}, { 'if-none-match': other['if-modified-since'] === undefined ? etag : '"y"', ...other }))
            .status,
          200,
          JSON.stringify(other),
        )
    }
  })

  test('gzip has the same bytes, and is sent only to clients that accept it', async (t) => {
    for (const view of views) {
      const plain = await read(`${june}/${view}`)
      const packed = await fetchBytes(`${june}/${view}?org=${org}`, 'gzip, br')
      t.is(packed.encoding, 'gzip')
      t.is(gunzipSync(packed.bytes).toString(), plain.text)
      t.is(plain.headers['content-encoding'], undefined)
      t.is((await fetchBytes(`${june}/${view}?org=${org}`, 'gzip;q=0')).encoding, undefined)
    }
  })

  test('CSV has the figures of JSON, and no name is a formula', async (t) => {
    for (const view of views) {
      const query = /history|mode/.test(view) ? {} : { view_type: 'billable' }
      const { items } = await viewOf(read(`${june}/${view}`, query))
      const csv = await expectStatus(
        read(`${june}/${view}`, query, { accept: 'text/csv, application/json;q=0.9' }),
        200,
      )
      t.regex(String(csv.headers['content-type']), /^text\/csv/)
      t.true(
        String(csv.headers['content-disposition']).startsWith(`attachment; filename="usage-${org}-2026-06-r1-final-`),
      )
      t.is((await read(`${june}/${view}`, { ...query, format: 'csv' })).text, csv.text)
      t.regex(
        String(
          (await read(`${june}/${view}`, { ...query, format: 'json' }, { accept: 'text/csv' })).headers['content-type'],
        ),
        /json/,
      )
      const [head, ...rows] = cellsOf(csv.text)
      const elements = items.flatMap((item) =>
        'segments' in item ? (item.segments as Item[]).map((segment) => ({ ...item, ...segment })) : [item],
      )
      t.is(rows.length, elements.length, view)
      if (view.endsWith('cluster-mode-usage-view'))
        t.deepEqual(
          rows.map((row) => row.slice(-2)),
          items.flatMap((item) =>
            (item as Item & { segments: Item[] }).segments.map(() => [String(item.cpu), String(item.memory)]),
          ),
          'each row of an object has the sum of all of them',
        )
      for (const [index, row] of rows.entries()) {
        t.is(row.length, head!.length)
        for (const [column, cell] of row.entries()) {
          t.notRegex(cell, /^[=+\-@\t\r]/, view)
          const name = head![column]!
          const value = name
            .split('.')
            .reduce<unknown>(
              (from, key) => (from as Record<string, unknown> | null | undefined)?.[key],
              elements[index],
            )
          if (typeof value === 'number') t.is(cell, String(value), `${view} ${name}`)
        }
      }
    }
    const filtered = await read(`${june}/dbProduct/views/objects-usage-view`, { kind: 'MySQL', format: 'csv' })
    t.deepEqual(
      cellsOf(filtered.text)
        .slice(1)
        .map((row) => [...row.slice(0, 4), row[10]]),
      [[org, '2026-06', '1', 'final', 'orders, mine']],
    )
  })

  test('old revisions remain readable, and the newest is the default', async (t) => {
    const ownerId = (
      await expectStatus(service.send('GET', `/api/v1/orgs/${otherOrg}`, { token: service.adminToken }), 200)
    ).json.id as number
    const month = monthKey(2026, 3)
    const path = `${summary}/2026/3/usage-report/products/dbProduct/views/objects-usage-view`
    await plantInService(service.databaseUrl, ownerId, [monthOfPlans(plansOf('one').slice(0, 1), { month })])
    const first = await expectStatus(read(path, { org: otherOrg }), 200)
    await plantInService(service.databaseUrl, ownerId, [monthOfPlans(plansOf('two').slice(0, 2), { month })], {
      revision: 2,
    })
    const changed = await expectStatus(
      read(path, { org: otherOrg }, { 'if-none-match': String(first.headers['etag']) }),
      200,
    )
    t.deepEqual([changed.json.revision, changed.json.items.length], [2, 2])
    t.is((await read(path, { org: otherOrg, revision: '1' })).text, first.text)
    // As a provisional month that another version of the code computes again from equal events.
    const db = await openPatiently(service.databaseUrl)
    await db.query((k) => k('usage_months').where({ owner_id: ownerId, revision: 2 }).increment('generated_at', 1))
    await db.close()
    t.is((await read(path, { org: otherOrg }, { 'if-none-match': String(changed.headers['etag']) })).status, 200)
    t.is((await read(path, { org: otherOrg, revision: '3' })).status, 404)
    t.is((await read(path, { revision: '1' })).status, 404)
  })

  test('HEAD has the headers without a body, and a client that leaves ends the answer', async (t) => {
    const head = await service.send('HEAD', `${june}/dbProduct/views/objects-usage-view?org=${org}`, {
      token: service.adminToken,
    })
    t.deepEqual([head.status, head.text], [200, ''])
    t.truthy(head.headers['etag'])
  })

  test('a long view is sent in pieces, and a damaged piece cuts it', async (t) => {
    const ownerId = (
      await expectStatus(service.send('GET', `/api/v1/orgs/${otherOrg}`, { token: service.adminToken }), 200)
    ).json.id as number
    const count = 1600
    const plans = Array.from({ length: count }, (_, n): ObjectPlan => ({
      cluster: 1 + (n % 4),
      kind: 'Redis',
      namespace: 'a',
      name: `long ${n}`,
      used: [used(3, 'prod', 7, BigInt(n))],
    }))
    await plantInService(service.databaseUrl, ownerId, [monthOfPlans(plans, { month: monthKey(2024, 1) })])
    const path = `${summary}/2024/1/usage-report/products/dbProduct/views/objects-usage-view?org=${otherOrg}`
    const whole = await expectStatus(service.send('GET', path, { token: service.adminToken }), 200)
    t.deepEqual(
      [whole.json.items.length, whole.headers['transfer-encoding'], whole.headers['content-length']],
      [count, 'chunked', undefined],
    )
    t.is(gunzipSync((await fetchBytes(path, 'gzip')).bytes).toString(), whole.text)
    const { request } = await import('undici')
    const left = await request(service.baseUrl + path, { headers: { authorization: `token ${service.adminToken}` } })
    for await (const _ of left.body) break
    t.is((await service.send('GET', path, { token: service.adminToken })).text, whole.text)
    const db = await openPatiently(service.databaseUrl)
    await db.query((k) => k('usage_view_pieces').where('piece', 6).update({ crc32: 1 }))
    await db.close()
    await t.throwsAsync(service.send('GET', path, { token: service.adminToken }))
    t.true(service.logText().includes('its checksum differs'))
  })
}
