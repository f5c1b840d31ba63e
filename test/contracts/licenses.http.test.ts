// process: waiting - runs programs
import { execFileSync } from 'node:child_process'
import { randomUUID, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { certificatesIn, readLicense, revocationsIn } from '../../adapters/licenses/license-signer.ts'
import { makeListRevocations, makeOpenAuthorities } from '../../core/contracts/authorities.ts'
import { licenseFaults } from '../../core/contracts/licenses.ts'
import { AuthorityStorePort, LicenseSignerPort, LicenseStorePort } from '../../core/contracts/ports.ts'
import { CachesPort } from '../../core/kernel/cache.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { SecretBoxPort } from '../../core/kernel/secret.ts'
import { expectStatus, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { addAuthority, openssl } from './license-tools.ts'

/** Licenses as owners get them over HTTP, and as verifiers read them: OpenSSL, Node and the command. */

const nowSeconds = Math.floor(Date.now() / 1000)
const day = 86_400
let service: TestService
let owner: Person
let org: string
let folder: string

/** As the route makes them, without its minute of rest. */
const revocationDeps = () => {
  const { resolve } = service.running.container
  const [clock, signer, licenses] = [resolve(ClockPort), resolve(LicenseSignerPort), resolve(LicenseStorePort)]
  const authorities = makeOpenAuthorities({
    authorities: resolve(AuthorityStorePort),
    caches: resolve(CachesPort),
    clock,
    secretBox: resolve(SecretBoxPort),
    signer,
  })
  return { authorities, clock, licenses, signer }
}

test.before(async () => {
  service = await startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' } })
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  folder = mkdtempSync(join(tmpdir(), 'moorage-licenses-'))
})
test.after.always(async () => {
  rmSync(folder, { recursive: true, force: true })
  await service?.stop()
})

const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: service.adminToken, ...(body === undefined ? {} : { body }) })

interface Bound {
  readonly id: number
  readonly uid: string
  readonly ccId: number
}
const bound = async (changes: Readonly<Record<string, unknown>> = {}): Promise<Bound> => {
  const terms = {
    orgOrUser: org,
    name: 'Licensed',
    products: ['database'],
    features: ['db-basic', 'db-backup'],
    start: nowSeconds - day,
    end: nowSeconds + 90 * day,
    allowOffline: true,
    emails: { licenseUsers: ['ops@example.com'] },
    restrictions: '{"regions":["eu"]}',
    disableAnalytics: true,
  }
  const [{ id }] = (await expectStatus(admin('POST', '/api/v1/contracts', { ...terms, ...changes }), 201)).json as [
    { id: number },
  ]
  const uid = randomUUID()
  const [{ id: ccId }] = (
    await expectStatus(admin('POST', `/api/v1/contracts/${id}/clusters`, [{ cluster: uid }]), 201)
  ).json as [{ id: number }]
  return { id, uid, ccId }
}
const issue = ({ id, ccId }: Pick<Bound, 'id' | 'ccId'>): Promise<ServiceAnswer> =>
  service.send('POST', `/api/v1/user/contracts/${id}/clusters/${ccId}/issue-license?org=${org}`, { token: owner.token })
const pemOf = ({ json }: ServiceAnswer): string => Buffer.from(json.license as string, 'base64').toString()
const issued = async (of: Bound): Promise<string> => pemOf(await expectStatus(issue(of), 200))
const authorities = async (): Promise<string> =>
  (await expectStatus(service.send('GET', '/api/v1/licenses/ca.pem'), 200)).text
const revocations = async (): Promise<string> =>
  (await expectStatus(service.send('GET', '/api/v1/licenses/crl.pem'), 200)).text
const file = (name: string, text: string): string => {
  const path = join(folder, `${name}-${randomUUID()}.pem`)
  writeFileSync(path, text)
  return path
}

test.serial('without an authority issuing explains the remedy', async (t) => {
  const answer = await issue(await bound())
  t.is(answer.status, 500, answer.text)
  t.regex(answer.text, /moorage licenses init/)
  t.is(await authorities(), '')
  await addAuthority(service, { organization: 'Vendor, "Inc."' })
})

test.serial('OpenSSL accepts a license and reads its features and cluster', async (t) => {
  const cluster = await bound()
  const answer = await expectStatus(issue(cluster), 200)
  t.like(answer.json.contract, {
    id: String(cluster.id),
    expiryTimestamp: new Date((nowSeconds + 90 * day) * 1000).toISOString(),
  })
  const [ca, license] = [file('ca', await authorities()), file('license', pemOf(answer))]
  t.regex(openssl('verify', '-CAfile', ca, '-purpose', 'sslclient', '-verify_hostname', cluster.uid, license), /OK\n$/)
  t.notRegex(openssl('verify', '-CAfile', ca, '-verify_hostname', randomUUID(), license), /OK\n$/)
  const shown = openssl('x509', '-in', license, '-noout', '-text', '-nameopt', 'multiline,-esc_msb,utf8')
  for (const part of [
    'organizationName          = db-backup',
    'organizationName          = db-basic',
    'localityName              = DisableAnalytics=true',
    '{"regions":["eu"]}',
    `DNS:${cluster.uid}, email:ops@example.com`,
    'TLS Web Client Authentication',
  ])
    t.true(shown.includes(part), `${part} in\n${shown}`)
})

test.serial('a license is refused for a wrong cluster, authority, time or feature', async (t) => {
  const cluster = await bound()
  const pem = await issued(cluster)
  const trusted = certificatesIn(await authorities())
  const faults = (
    changes: {
      readonly uid?: string
      readonly ca?: readonly X509Certificate[]
      readonly now?: Date
      readonly feature?: string
    } = {},
  ) =>
    licenseFaults(readLicense(pem, changes.ca ?? trusted, changes.uid ?? cluster.uid), {
      now: changes.now ?? new Date(),
      feature: changes.feature,
      revocations: undefined,
    })
  t.deepEqual(faults(), [])
  t.deepEqual(faults({ uid: cluster.uid.toUpperCase(), feature: 'db-basic' }), [])
  t.deepEqual(faults({ uid: randomUUID() }), ['It is for another cluster.'])
  t.deepEqual(faults({ uid: `x.${cluster.uid}` }), ['It is for another cluster.'])
  t.deepEqual(faults({ ca: [] }), ['It is not signed by a known authority.'])
  t.deepEqual(faults({ ca: [new X509Certificate(pem)] }), ['It is not signed by a known authority.'])
  t.deepEqual(faults({ feature: 'db-other' }), ['It does not license the feature db-other.'])
  t.regex(faults({ now: new Date((nowSeconds + 90 * day + 1) * 1000) })[0]!, /expired/)
  t.regex(faults({ now: new Date((nowSeconds - 2 * day) * 1000) })[0]!, /not valid before/)
  const { notBefore, notAfter, flags } = readLicense(pem, trusted, undefined)
  t.true(notBefore.getTime() >= (nowSeconds - day) * 1000 && notBefore.getTime() <= Date.now())
  t.is(notAfter.getTime(), (nowSeconds + 90 * day) * 1000)
  t.deepEqual(flags, { ActivationMode: 'full', DisableAnalytics: 'true', Restrictions: '{"regions":["eu"]}' })
})

test.serial('repeated and concurrent requests get the same license until a change', async (t) => {
  const cluster = await bound()
  const all = await Promise.all(Array.from({ length: 10 }, () => issued(cluster)))
  t.is(new Set(all).size, 1)
  t.is(await issued(cluster), all[0]!)
  await expectStatus(
    admin('PUT', `/api/v1/contracts/${cluster.id}`, { features: ['db-basic', 'db-backup', 'db-more'] }),
    200,
  )
  const renewed = await issued(cluster)
  t.not(renewed, all[0]!)
  t.deepEqual(readLicense(renewed, [], undefined).features, ['db-backup', 'db-basic', 'db-more'])
  const history = (await expectStatus(admin('GET', `/api/v1/contracts/${cluster.id}/audit?limit=50`), 200)).json as {
    event: string
    addedBy: string
  }[]
  t.deepEqual(
    history.filter(({ event }) => event === 'license.issued').map(({ addedBy }) => addedBy),
    [`${owner.login}@example.com`, `${owner.login}@example.com`],
  )
})

test.serial('contracts that cannot issue are 405, and missing ones 404', async (t) => {
  for (const changes of [{ allowOffline: false }, { revoke: true }])
    await (async () => {
      const { revoke, ...terms } = changes as { revoke?: boolean }
      const cluster = await bound(terms)
      if (revoke === true) await expectStatus(admin('POST', `/api/v1/contracts/${cluster.id}/revoke`), 200)
      t.is((await issue(cluster)).status, 405)
    })()
  const cluster = await bound()
  t.is((await issue({ ...cluster, ccId: 999_999 })).status, 404)
  t.is((await issue({ ...cluster, id: 999_999 })).status, 404)
})

test.serial('revoking a contract lists its licenses for OpenSSL, Node and the command', async (t) => {
  const cluster = await bound()
  const pem = await issued(cluster)
  await expectStatus(admin('POST', `/api/v1/contracts/${cluster.id}/revoke`), 200)
  const [ca, crl] = [await authorities(), await revocations()]
  t.regex(
    openssl('verify', '-crl_check', '-CAfile', file('ca', ca), '-CRLfile', file('crl', crl), file('license', pem)),
    /certificate revoked/,
  )
  const read = await revocationsIn(crl, certificatesIn(ca), new Date())
  t.deepEqual(
    licenseFaults(readLicense(pem, certificatesIn(ca), cluster.uid), {
      now: new Date(),
      feature: undefined,
      revocations: read,
    }),
    ['It was revoked.'],
  )
  const command = (...args: readonly string[]): { readonly status: number; readonly out: string } => {
    try {
      return {
        status: 0,
        out: execFileSync(
          process.execPath,
          ['composition/bin/moorage.mjs', 'licenses', 'verify', '--ca', file('ca', ca), ...args],
          { encoding: 'utf8' },
        ),
      }
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: string }
      return { status, out: stdout }
    }
  }
  const good = await issued(await bound())
  t.like(command(file('license', good)), { status: 0 })
  const refused = command('--crl', file('crl', crl), '--cluster', cluster.uid, file('license', pem))
  t.is(refused.status, 1)
  t.regex(refused.out, /It was revoked/)
})

test.serial('a limited offline license stays the same until half of its time', async (t) => {
  const cluster = await bound({ restrictions: '{"offlineTtlDays":30}' })
  const pem = await issued(cluster)
  t.is(await issued(cluster), pem)
  const { notBefore, notAfter } = readLicense(pem, [], undefined)
  t.true(notAfter.getTime() - notBefore.getTime() <= (30 * day + 301) * 1000)
  const shortened = await bound()
  const long = await issued(shortened)
  await expectStatus(admin('PUT', `/api/v1/contracts/${shortened.id}`, { end: nowSeconds + 20 * day }), 200)
  const short = await issued(shortened)
  t.not(short, long)
  t.is(readLicense(short, [], undefined).notAfter.getTime(), (nowSeconds + 20 * day) * 1000)
})

test.serial('a license of a replaced authority stays valid under both certificates', async (t) => {
  const cluster = await bound()
  const before = await issued(cluster)
  await addAuthority(service, { rotate: true })
  const after = await issued(cluster)
  const trusted = certificatesIn(await authorities())
  t.is(trusted.length, 2)
  t.not(after, before)
  t.deepEqual(
    trusted.map(({ subject }) => subject),
    Array(2).fill(trusted[1]?.subject),
    'the organization of the replaced one',
  )
  for (const pem of [before, after])
    t.deepEqual(
      licenseFaults(readLicense(pem, trusted, cluster.uid), {
        now: new Date(),
        feature: undefined,
        revocations: undefined,
      }),
      [],
    )
  t.deepEqual(
    [before, after].map((pem) => readLicense(pem, trusted.slice(0, 1), cluster.uid).isTrusted),
    [false, true],
  )
  for (const pem of [before, after]) {
    const hex = `0x${new X509Certificate(pem).serialNumber}`
    for (const serial of [hex, BigInt(hex).toString()]) {
      const own = certificatesIn(
        (await expectStatus(service.send('GET', `/api/v1/licenses/ca.pem?license=${serial}`), 200)).text,
      )
      t.deepEqual([own.length, readLicense(pem, own.slice(0, 1), cluster.uid).isTrusted], [2, true], serial)
    }
  }
  await expectStatus(service.send('GET', '/api/v1/licenses/ca.pem?license=1'), 404)
  for (const wrong of ['x', '-1', '0x'])
    t.true((await service.send('GET', `/api/v1/licenses/ca.pem?license=${wrong}`)).status >= 400, wrong)
  const [ca, crl] = [file('ca', await authorities()), file('crl', await revocations())]
  // A verifier whose clock is four minutes behind.
  const behind = String(nowSeconds - 240)
  for (const pem of [before, after])
    t.regex(
      openssl('verify', '-crl_check', '-attime', behind, '-CAfile', ca, '-CRLfile', crl, file('license', pem)),
      /OK\n$/,
    )
  await expectStatus(admin('POST', `/api/v1/contracts/${cluster.id}/revoke`), 200)
  const revokedNow = async () => {
    const list = await makeListRevocations(revocationDeps())()
    return revocationsIn(unwrap(list), trusted, new Date())
  }
  const { revoked } = await revokedNow()
  for (const pem of [before, after]) t.true(revoked.has(readLicense(pem, trusted, undefined).serial))
})
