// process: waiting - uses components
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import {
  certificatesIn,
  makeLicenseSigner,
  readLicense,
  revocationsIn,
} from '../../adapters/licenses/license-signer.ts'
import { licenseFaults } from '../../core/contracts/licenses.ts'
import type { LicenseAuthority, LicenseContent } from '../../core/contracts/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { go } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { mustRun } from '../support/components/run-command.ts'
import { openssl } from './license-tools.ts'

/** Licenses as files: what OpenSSL, Go and this program's own verifier make of them, for each kind of authority. */

const folder = mkdtempSync(join(tmpdir(), 'moorage-license-files-'))
const signer = makeLicenseSigner()
test.after.always(async () => {
  await signer.close()
  rmSync(folder, { recursive: true, force: true })
})

const day = 86_400_000
const now = new Date(Math.floor(Date.now() / 1000) * 1000)
const inDays = (days: number): Date => new Date(now.getTime() + days * day)
/** OpenSSL dates a new certificate by the clock, which may be past `now`. */
const soon = new Date(now.getTime() + 600_000)
const uid = randomUUID()
const file = (text: string): string => {
  const path = join(folder, `${randomUUID()}.pem`)
  writeFileSync(path, text)
  return path
}

const signingUsage = 'keyUsage=critical,keyCertSign,cRLSign'
/** An authority of the operator's own, as OpenSSL makes it. */
const own = (
  algorithm: readonly string[],
  extensions: readonly string[] = [signingUsage],
  subject = '/O=Vendor/CN=Own',
): LicenseAuthority => {
  const [certificate, key] = [file(''), file('')]
  const added = ['basicConstraints=critical,CA:TRUE', ...extensions].flatMap((each) => ['-addext', each])
  openssl(
    'req',
    '-x509',
    '-new',
    '-nodes',
    ...algorithm,
    '-keyout',
    key,
    '-out',
    certificate,
    '-days',
    '400',
    '-subj',
    subject,
    ...added,
  )
  return { certificatePem: readFileSync(certificate, 'utf8'), key: secret(readFileSync(key, 'utf8')) }
}
/** An authority with exactly these extensions. */
const ownWithOnly = (...extensions: readonly string[]): LicenseAuthority => {
  const [certificate, key] = [file(''), file('')]
  const config = file(
    [
      '[req]',
      'distinguished_name=name',
      'prompt=no',
      'x509_extensions=only',
      '[name]',
      'O=Vendor',
      '[only]',
      ...extensions,
      '',
    ].join('\n'),
  )
  openssl(
    'req',
    '-x509',
    '-new',
    '-nodes',
    ...p256,
    '-keyout',
    key,
    '-out',
    certificate,
    '-days',
    '400',
    '-config',
    config,
  )
  return { certificatePem: readFileSync(certificate, 'utf8'), key: secret(readFileSync(key, 'utf8')) }
}
const p256 = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
const content = (changes: Partial<LicenseContent> = {}): LicenseContent => ({
  clusterUid: uid,
  features: ['db-basic'],
  plan: 'db-enterprise',
  productLine: 'db',
  tier: 'enterprise',
  flags: {},
  licensee: 'ops@example.com',
  notBefore: inDays(-1),
  notAfter: inDays(30),
  ...changes,
})
const made = (): Promise<LicenseAuthority> =>
  signer.makeAuthority({ organization: 'Vendor', notBefore: inDays(-2), notAfter: inDays(400) })
const request = { now, feature: undefined, revocations: undefined }

test("a license's subject has a business category and no country", async (t) => {
  const authority = await made()
  const { certificatePem } = await signer.sign(authority, content({ productLine: 'database' }))
  const [certificate] = certificatesIn(certificatePem)
  t.like(certificate?.toLegacyObject().subject, { businessCategory: 'database', OU: 'db-enterprise' })
  t.false('C' in (certificate?.toLegacyObject().subject ?? {}))
})

const kinds: Readonly<Record<string, () => LicenseAuthority | Promise<LicenseAuthority>>> = {
  'made here': made,
  'RSA of 2048 bits': () => own(['-newkey', 'rsa:2048']),
  'ECDSA P-384': () => own(['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384']),
  Ed25519: () => own(['-newkey', 'ed25519']),
  'with another key identifier': () =>
    own(p256, [signingUsage, 'subjectKeyIdentifier=0102030405060708', 'authorityKeyIdentifier=none']),
}
for (const [kind, authorityOf] of Object.entries(kinds))
  test(`authority ${kind}: OpenSSL accepts its license until it is revoked`, async (t) => {
    const authority = await authorityOf()
    t.is(await signer.faultOf(authority, soon), undefined)
    const { certificatePem, serial } = await signer.sign(authority, content())
    const [ca, license] = [file(authority.certificatePem), file(certificatePem)]
    const crl = file(await signer.signRevocations(authority, [{ serial, at: now }], now, inDays(7)))
    const other = file((await signer.sign(authority, content())).certificatePem)
    t.regex(
      openssl('verify', '-x509_strict', '-CAfile', ca, '-purpose', 'sslclient', '-verify_hostname', uid, license),
      /OK\n$/,
    )
    t.regex(openssl('verify', '-crl_check', '-CAfile', ca, '-CRLfile', crl, license), /certificate revoked/)
    t.regex(openssl('verify', '-crl_check', '-CAfile', ca, '-CRLfile', crl, other), /OK\n$/)
    const numberOf = (list: string): bigint =>
      BigInt(/0x[0-9A-F]+/.exec(openssl('crl', '-in', list, '-noout', '-crlnumber'))?.[0] ?? '-1')
    const later = file(await signer.signRevocations(authority, [], new Date(now.getTime() + 1), inDays(7)))
    t.true(numberOf(crl) > 2n ** 40n && numberOf(later) > numberOf(crl), 'lists are numbered, in growing order')
    t.deepEqual(licenseFaults(readLicense(certificatePem, certificatesIn(authority.certificatePem), uid), request), [])
  })

test('an authority that verifiers would refuse cannot be set up', async (t) => {
  const good = own(p256)
  const legacy = file('')
  writeFileSync(legacy, openssl('ec', '-in', file(good.key.reveal())))
  const cases: readonly (readonly [LicenseAuthority, RegExp])[] = [
    [own(p256, ['keyUsage=critical,keyCertSign']), /keyCertSign and cRLSign/],
    [own(p256, [signingUsage, 'extendedKeyUsage=serverAuth']), /clientAuth/],
    [own(p256, [signingUsage, 'nameConstraints=permitted;DNS:example.com']), /no name constraints/],
    [ownWithOnly('basicConstraints=critical,CA:TRUE', 'subjectKeyIdentifier=hash'), /keyCertSign and cRLSign/],
    [
      ownWithOnly('basicConstraints=CA:TRUE', signingUsage, 'subjectKeyIdentifier=hash'),
      /constraints of the authority must be critical/,
    ],
    [
      ownWithOnly('basicConstraints=critical,CA:TRUE', signingUsage, 'subjectKeyIdentifier=none'),
      /subject key identifier/,
    ],
    [own(['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-521']), /P-256 or P-384/],
    [own(['-newkey', 'rsa:1024']), /2048/],
    [own(p256, [signingUsage], '/CN=Nobody'), /organization/],
    [{ ...good, key: own(p256).key }, /do not belong together/],
    [{ ...good, key: secret(readFileSync(legacy, 'utf8')) }, /PKCS#8/],
    [{ ...good, certificatePem: `${good.certificatePem}${own(p256).certificatePem}` }, /exactly one certificate/],
    [
      { ...good, certificatePem: (await signer.sign(good, content())).certificatePem },
      /not one of a certificate authority/,
    ],
  ]
  for (const [authority, reason] of cases) t.regex((await signer.faultOf(authority, soon)) ?? '', reason)
  for (const when of [inDays(-3), inDays(500)])
    t.regex((await signer.faultOf(good, when)) ?? '', /outside of its validity/)
})

test('a wildcard license needs the organization of its authority', async (t) => {
  const authority = await made()
  const trusted = certificatesIn(authority.certificatePem)
  const faults = async (clusterUid: string, cluster: string = uid) =>
    licenseFaults(
      readLicense((await signer.sign(authority, content({ clusterUid }))).certificatePem, trusted, cluster),
      request,
    )
  t.deepEqual(await faults('*.Vendor'), [])
  t.deepEqual(await faults('*.Other'), ['It is for another cluster.'])
  t.deepEqual(await faults('*.example.com', 'x.example.com'), ['It is for another cluster.'])
  const foreign = readLicense(
    (await signer.sign(await made(), content({ clusterUid: '*.Vendor' }))).certificatePem,
    trusted,
    uid,
  )
  t.deepEqual(licenseFaults(foreign, request), ['It is not signed by a known authority.', 'It is for another cluster.'])
})

test('a license is refused once its authority has expired', async (t) => {
  const authority = await signer.makeAuthority({ organization: 'Vendor', notBefore: inDays(-9), notAfter: inDays(1) })
  const license = readLicense(
    (await signer.sign(authority, content())).certificatePem,
    certificatesIn(authority.certificatePem),
    uid,
  )
  t.deepEqual(licenseFaults(license, { ...request, now: inDays(1) }), [])
  t.regex(licenseFaults(license, { ...request, now: inDays(2) }).join(), /authority that signed it expired/)
})

test('several valid revocation lists in one text count together', async (t) => {
  const [first, second] = [await made(), await made()]
  const listOf = (authority: LicenseAuthority, serial: string) =>
    signer.signRevocations(authority, [{ serial, at: now }], now, inDays(7))
  const lists = `${await listOf(first, '91827364554637281')}${await listOf(second, '5')}`
  const both = `${first.certificatePem}\n${second.certificatePem}`
  const trusted = certificatesIn(both)
  t.deepEqual((await revocationsIn(lists, trusted, now)).revoked, new Set(['91827364554637281', '5']))
  const ofFirst = await revocationsIn(lists, trusted.slice(0, 1), now)
  t.deepEqual(ofFirst.revoked, new Set(['91827364554637281']))
  const [good, bad] = [await signer.sign(first, content()), await signer.sign(first, content())]
  for (const order of [
    [first, second],
    [second, first],
  ]) {
    const crl = file(
      (await Promise.all(order.map((each) => listOf(each, each === first ? bad.serial : good.serial)))).join(''),
    )
    const ofOpenssl = (license: string): string =>
      openssl('verify', '-crl_check', '-CAfile', file(both), '-CRLfile', crl, file(license))
    t.regex(ofOpenssl(good.certificatePem), /OK\n$/)
    t.regex(ofOpenssl(bad.certificatePem), /certificate revoked/)
  }
  const faultsOf = async (by: LicenseAuthority): Promise<readonly string[]> =>
    licenseFaults(readLicense((await signer.sign(by, content())).certificatePem, trusted, uid), {
      ...request,
      revocations: ofFirst,
    })
  t.deepEqual(await faultsOf(first), [])
  t.deepEqual(
    await faultsOf(second),
    ['There is no revocation list of the authority that signed it. Fetch a new one.'],
    'as OpenSSL, which wants a list',
  )
  await t.throwsAsync(revocationsIn(lists, [], now), { message: /not signed by a known authority/ })
  await t.throwsAsync(revocationsIn(lists, trusted, inDays(8)), { message: /expired/ })
})

needing('go')('crypto/x509 of Go accepts a license of the right cluster alone', async (t) => {
  const [authority, foreign] = [await made(), await made()]
  const { certificatePem: License, serial } = await signer.sign(authority, content())
  const CRL = await signer.signRevocations(authority, [{ serial, at: now }], now, inDays(7))
  const empty = await signer.signRevocations(authority, [], now, inDays(7))
  const right = {
    CA: authority.certificatePem,
    License,
    CRL: empty,
    Cluster: uid,
    Feature: 'db-basic',
    At: now.getTime() / 1000,
  }
  const cases: readonly (readonly [Partial<typeof right>, RegExp])[] = [
    [{}, /^$/],
    [{ At: inDays(30).getTime() / 1000 }, /^$/],
    [{ At: inDays(30).getTime() / 1000 + 1 }, /expired/],
    [{ At: inDays(-1).getTime() / 1000 - 1 }, /not yet valid/],
    [{ Cluster: randomUUID() }, /certificate is valid for/],
    [{ CA: foreign.certificatePem }, /unknown authority/],
    [{ Feature: 'db-other' }, /not licensed/],
    [{ CRL }, /revoked/],
  ]
  const input = JSON.stringify(cases.map(([changes]) => ({ ...right, ...changes })))
  const program = fileURLToPath(new URL('go-verifier/main.go', import.meta.url))
  const refusals = JSON.parse(
    await mustRun((await go())!, ['run', program], {
      input,
      environment: { ...process.env, GOFLAGS: '', GOWORK: 'off', CGO_ENABLED: '0' },
    }),
  ) as string[]
  t.is(refusals.length, cases.length)
  for (const [index, [, reason]] of cases.entries()) t.regex(refusals[index]!, reason)
})
