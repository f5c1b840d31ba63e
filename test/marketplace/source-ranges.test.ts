import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import fc from 'fast-check'
import type { SourceRanges } from '../../adapters/marketplace/source-ranges.ts'
import { isReplacement, makeSourceRanges, parseRanges } from '../../adapters/marketplace/source-ranges.ts'
import type { GuardedRequest } from '../../adapters/outbound/guarded-fetch.ts'
import { writeWhole } from '../../adapters/system/files.ts'

const published = (syncToken: number, v4: readonly string[], v6: readonly string[] = [], service = 'EC2') =>
  JSON.stringify({
    syncToken: String(syncToken),
    createDate: '2026-08-22-15-17-05',
    prefixes: v4.map((ip_prefix) => ({ ip_prefix, region: 'us-east-1', service, network_border_group: 'us-east-1' })),
    ipv6_prefixes: v6.map((ipv6_prefix) => ({ ipv6_prefix, region: 'us-east-1', service })),
  })

const withRanges = async (
  work: (
    ranges: SourceRanges,
    answer: (status: number, text: string, etag?: string) => void,
    asked: readonly GuardedRequest[],
    folder: string,
  ) => Promise<void>,
  bundled?: string,
): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-ranges-'))
  const asked: GuardedRequest[] = []
  let next = { status: 500, text: '', etag: '' }
  const ranges = makeSourceRanges({
    url: new URL('https://ranges.example/ip-ranges.json'),
    fetch: async (request) => {
      asked.push(request)
      const { status, text, etag } = next
      return { status, headers: { etag }, bytes: new Uint8Array(Buffer.from(text)), url: request.url }
    },
    folder,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    write: writeWhole,
    chance: () => 0.5,
    nowMs: () => 2_000_000,
    ...(bundled === undefined ? {} : { bundled: () => bundled }),
  })
  try {
    await work(ranges, (status, text, etag = '') => void (next = { status, text, etag }), asked, folder)
  } finally {
    await ranges.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

test('the ranges of this release are those of virtual machines, of both protocols', (t) =>
  withRanges(async (ranges) => {
    for (const address of [
      '3.80.0.1',
      '::ffff:3.80.0.1',
      '::ffff:350:1',
      '3.5.140.1',
      '35.180.0.1',
      '2406:daba:f000::1',
    ])
      t.true(ranges.has(address), address)
    for (const address of ['203.0.113.7', '10.0.0.1', '127.0.0.1', '::1', '::ffff:203.0.113.7', '2001:db8::1', '', 'x'])
      t.false(ranges.has(address), address)
  }))

test('a newer file takes the place of the one before, and is kept on disk', (t) =>
  withRanges(
    async (ranges, answer, asked, folder) => {
      answer(200, published(1001, ['198.51.100.0/24'], ['2001:db8::/32']), '"one"')
      await ranges.refresh()
      t.true(ranges.has('198.51.100.9'))
      t.true(ranges.has('2001:db8::5'))
      t.false(ranges.has('192.0.2.9'))
      t.is(
        await readFile(join(folder, 'ip-ranges.json'), 'utf8'),
        published(1001, ['198.51.100.0/24'], ['2001:db8::/32']),
      )
      answer(304, '')
      await ranges.refresh()
      t.is(asked.at(-1)?.headers?.['If-None-Match'], '"one"')
      t.true(ranges.has('198.51.100.9'))
      t.is(ranges.ageSeconds(), 999)
    },
    published(1000, ['192.0.2.0/24', '192.0.3.0/24']),
  ))

test('an older, smaller, truncated or foreign file is not used', (t) =>
  withRanges(
    async (ranges, answer) => {
      const refused: readonly [number, string][] = [
        [200, published(999, ['198.51.100.0/24', '198.51.101.0/24'])],
        [200, published(1001, ['198.51.100.0/24'])],
        [200, published(1001, [])],
        [200, published(1001, ['198.51.100.0/24', '198.51.101.0/24'], [], 'S3')],
        [200, published(1001, ['198.51.100.0/24', '198.51.101.0/24']).slice(0, -9)],
        [200, published(1001, ['198.51.100.0/24', '198.51.101.0/99'])],
        [200, '<html>'],
        [503, published(1001, ['198.51.100.0/24', '198.51.101.0/24'])],
      ]
      for (const [status, text] of refused) {
        answer(status, text)
        await ranges.refresh()
        t.false(ranges.has('198.51.100.9'), text.slice(0, 80))
        t.true(ranges.has('192.0.2.9'))
      }
    },
    published(1000, ['192.0.2.0/24', '192.0.3.0/24', '192.0.4.0/24']),
  ))

test('without a file no address is accepted', (t) =>
  withRanges(async (ranges, answer) => {
    t.false(ranges.has('3.80.0.1'))
    t.is(ranges.ageSeconds(), undefined)
    answer(200, published(1, ['3.80.0.0/16']))
    await ranges.refresh()
    t.true(ranges.has('3.80.0.1'))
  }, 'not a file'))

test('a replacement is newer and has at least half of the ranges', (t) => {
  const known = parseRanges(published(10, ['192.0.2.0/24', '192.0.3.0/24', '192.0.4.0/24', '192.0.5.0/24']))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 8 }), (token, count) => {
      const networks = Array.from({ length: count }, (_, index) => `198.51.100.${index}/32`)
      const found = parseRanges(published(token, networks))
      return found !== undefined && isReplacement(known, found) === (token > 10 && count >= 2)
    }),
  )
  t.pass()
})
