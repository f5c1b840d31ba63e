import { pbkdf2 } from 'node:crypto'
import dns from 'node:dns'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import test from 'ava'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import { EgressRefused, makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import type { NameResolver, NameResolverOptions } from '../../adapters/outbound/name-resolver.ts'
import {
  candidates,
  makeNameResolver,
  readHosts,
  readSearchRules,
  useForAllNames,
} from '../../adapters/outbound/name-resolver.ts'
import type { DnsReply, DnsServer } from '../support/dns-server.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { until } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-names-'))
test.after.always(() => rm(folder, { recursive: true, force: true }))

const records: Readonly<Record<string, readonly [v4: DnsReply, v6: DnsReply]>> = {
  'both.example': [['192.0.2.1', '192.0.2.2'], ['2001:db8::1']],
  'four.example': [['192.0.2.4'], []],
  'six.example': [[], ['2001:db8::6']],
  'half.example': [['192.0.2.5'], 'silent'],
  'mapped.example': [[], ['::ffff:7f00:1']],
  'inner.example': [['10.1.2.3'], []],
  'db.prod.example': [['192.0.2.9'], []],
  'deep.er.example': [['192.0.2.10'], []],
}
let server: DnsServer
test.before(async () => {
  server = await startDnsServer(({ name, family }) =>
    name.startsWith('dead') ? 'frozen' : (records[name]?.[family === 4 ? 0 : 1] ?? 'absent'),
  )
})
test.after.always(() => server.close())

const hostsFile = join(folder, 'hosts')
writeFileSync(
  hostsFile,
  '# a comment\n192.0.2.77  Known.example alias # more\n2001:db8::77 known.example\n127.0.0.1 localhost\nfe80::1%eth0 zoned\nnonsense\n',
)
const configurationFile = join(folder, 'resolv.conf')
writeFileSync(configurationFile, 'nameserver 192.0.2.53\nsearch prod.example example.\noptions timeout:1 ndots:2\n')

const resolverOf = (options: NameResolverOptions = {}): NameResolver =>
  makeNameResolver({ hostsFile, configurationFile, servers: [server.address], otherFamilyMilliseconds: 20, ...options })
const look = ({ lookup }: NameResolver, name: string, family = 0): Promise<readonly string[] | string> =>
  new Promise((resolve) =>
    lookup(name, { all: true, family }, (error, addresses) =>
      resolve(error === null ? addresses.map(({ address }) => address).sort() : (error.code ?? '')),
    ),
  )

for (const [name, expected, family] of [
  ['both.example.', ['192.0.2.1', '192.0.2.2', '2001:db8::1']],
  ['both.example.', ['192.0.2.1', '192.0.2.2'], 4],
  ['both.example.', ['2001:db8::1'], 6],
  ['four.example.', ['192.0.2.4']],
  ['six.example.', ['2001:db8::6']],
  ['four.example.', 'ENOTFOUND', 6],
  ['half.example.', ['192.0.2.5']],
  ['absent.example.', 'ENOTFOUND'],
  ['KNOWN.Example', ['192.0.2.77', '2001:db8::77']],
  ['alias', ['192.0.2.77']],
  ['known.example.', ['2001:db8::77'], 6],
  ['localhost', ['127.0.0.1']],
  ['app.localhost', ['127.0.0.1', '::1']],
  ['192.0.2.3', ['192.0.2.3']],
  ['db', ['192.0.2.9']],
  ['deep.er', ['192.0.2.10']],
  ['four.example', ['192.0.2.4']],
  ['-.-', 'ENOTFOUND'],
  [`${'x'.repeat(70)}.example.`, 'ENOTFOUND'],
] as const) {
  test(`${name}${family === undefined ? '' : ` of family ${family}`} is ${String(expected)}`, async (t) => {
    t.deepEqual(await look(resolverOf(), name, family), expected)
  })
}

test('names in the domains of the configuration come in the order of the system', (t) => {
  const rules = readSearchRules('domain one.example\nsearch a.example b.example.\noptions ndots:3 rotate\n')
  t.deepEqual(rules, { domains: ['a.example', 'b.example'], dots: 3 })
  t.deepEqual(candidates('db', rules), ['db.a.example', 'db.b.example', 'db'])
  t.deepEqual(candidates('a.b.c.d', rules), ['a.b.c.d', 'a.b.c.d.a.example', 'a.b.c.d.b.example'])
  t.deepEqual(candidates('db.', rules), ['db'])
  t.deepEqual(readSearchRules(''), { domains: [], dots: 1 })
  t.deepEqual(
    [...(readHosts('::1 a b\n127.0.0.1 a').get('a') ?? [])].map(({ address }) => address),
    ['::1', '127.0.0.1'],
  )
})

test('a change of the hosts file is seen', async (t) => {
  const file = join(folder, 'changing')
  const resolver = resolverOf({ hostsFile: file })
  t.is(await look(resolver, 'new.host.'), 'ENOTFOUND', 'a file that does not exist has no hosts')
  writeFileSync(file, '192.0.2.8 new.host\n')
  t.deepEqual(await look(resolver, 'new.host.'), ['192.0.2.8'])
})

test('files, hashes and other names proceed while DNS does not answer', async (t) => {
  let account: AccountKey = 1
  const resolver = resolverOf({ account: () => account })
  let ended = 0
  const dead = Array.from({ length: 200 }, (_, at) => look(resolver, `dead${at}.example.`).finally(() => (ended += 1)))
  await until(
    'the questions of the first look-ups',
    () => server.seen.filter(({ name }) => name.startsWith('dead')).length >= 64 || undefined,
  )
  t.like(resolver.load(), { running: 32, waiting: 168 }, 'the look-ups of one account are limited')
  account = 2
  t.deepEqual(await look(resolver, 'four.example.'), ['192.0.2.4'])
  await Promise.all([readFile(hostsFile), promisify(pbkdf2)('a', 'b', 10, 32, 'sha256')])
  t.true(ended <= 32, 'the others have not ended')
  server.thaw()
  const codes = await Promise.all(dead)
  t.true(codes.every((code) => code === 'EAI_AGAIN' || code === 'ENOTFOUND'))
  t.like(resolver.load(), { running: 0, waiting: 0 })
})

test('the policy judges each address that a name leads to', async (t) => {
  const lookUp = (name: string): Promise<unknown> =>
    new Promise((resolve) =>
      makeEgressPolicy(new Set(['public']), resolverOf().lookup).lookup(name, { all: true }, (error, addresses) =>
        resolve(error ?? addresses),
      ),
    )
  for (const name of ['inner.example.', 'mapped.example.', 'localhost', 'app.localhost'])
    t.true((await lookUp(name)) instanceof EgressRefused, name)
})

test.serial('packages that look up names themselves use the resolver', async (t) => {
  writeFileSync(join(folder, 'own'), '127.0.0.1 database.internal\n')
  const listener = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const undo = useForAllNames(resolverOf({ hostsFile: join(folder, 'own') }))
  try {
    const socket = connect({ host: 'database.internal', port: (listener.address() as AddressInfo).port })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    socket.destroy()
    t.deepEqual(await dns.promises.lookup('database.internal'), { address: '127.0.0.1', family: 4 })
    t.deepEqual(await promisify(dns.lookup)('database.internal', { all: true }), [{ address: '127.0.0.1', family: 4 }])
    t.is(
      await new Promise((resolve) => dns.lookup('database.internal', (_error, address) => resolve(address))),
      '127.0.0.1',
    )
    await t.throwsAsync(dns.promises.lookup('absent.example.'), { code: 'ENOTFOUND' })
  } finally {
    undo()
    listener.close()
  }
})
