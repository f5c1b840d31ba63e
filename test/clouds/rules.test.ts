import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { EgressClient } from '../../adapters/outbound/egress-client.ts'
import { makeEgressClient } from '../../adapters/outbound/egress-client.ts'
import { serviceAccountReader } from '../../adapters/clouds/google-buckets.ts'
import { makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import { EgressRefused, makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { cloudNamed, cloudOf, cloudWords } from '../../core/clouds/types.ts'
import type { CredentialField } from '../../core/clouds/credential-form.ts'
import {
  credentialTypes,
  credentialTypeWords,
  readCredential,
  toCredentialForm,
} from '../../core/clouds/credential-form.ts'
import { makeCompleteCredential } from '../../core/clouds/credentials.ts'
import { CloudCredentialRefused } from '../../core/clouds/ports.ts'
import { makeStorageKeys, readSecretData } from '../../core/clouds/buckets.ts'
import type { CloudCredentialId, CredentialSpec, StoredCredential } from '../../core/clouds/types.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { Emulator } from './emulator.ts'
import { startEmulator } from './emulator.ts'
import { makeServiceAccount } from './google-emulator.ts'
import { surroundWithTraps } from './hostile-surroundings.ts'

const user = 7 as UserId
const anyDocument = {
  serviceAccounts: {
    read: () => right({ projectId: 'p', clientEmail: 'a@b', privateKey: secret('k'), privateKeyId: undefined }),
  },
  kubeconfigs: { parse: () => right({} as never) },
}
const complete = makeCompleteCredential(anyDocument)
const keys = makeStorageKeys({ serviceAccounts: serviceAccountReader })

const text = fc
  .string({ minLength: 1, maxLength: 60, unit: 'grapheme' })
  .filter((value) => !value.includes('\0') && value.isWellFormed())
const valueOf = ({ kind }: CredentialField): fc.Arbitrary<string | readonly string[]> =>
  kind === 'list'
    ? fc.array(text, { maxLength: 4 })
    : kind === 'instant'
      ? fc
          .date({ min: new Date(0), max: new Date('2099-01-01'), noInvalidDate: true })
          .map((date) => date.toISOString())
      : kind === 'https-url'
        ? fc.domain().map((host) => `https://${host}`)
        : text

/** A body of any type with every field, secrets marked by a word that occurs nowhere else. */
const bodyOf = fc.constantFrom(...credentialTypeWords).chain((type) => {
  const { block, fields } = credentialTypes[type]!
  const record = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      field.isSecret ? fc.uuid().map((id) => `canary-${id}`) : valueOf(field),
    ]),
  )
  return fc
    .record(record)
    .map((values) => ({ type, block, values, body: { name: 'one', type, [block]: values } as FreeObject }))
})

const stored = (spec: CredentialSpec): StoredCredential => ({
  id: 1 as CloudCredentialId,
  userId: user,
  name: 'one',
  type: spec.type,
  ownerId: user,
  ref: 'r',
  box: new Uint8Array(),
  createdAt: new Date(0),
  version: 1,
})
const mustRead = (body: FreeObject) => {
  const read = readCredential(body, user)
  if (isLeft(read)) throw new Error(read.left.message)
  return read.right
}
const specOf = (body: FreeObject, before?: CredentialSpec): CredentialSpec => {
  const spec = complete(mustRead(body), before)
  if (isLeft(spec)) throw new Error(spec.left.message)
  return spec.right
}

test('every field of every type is read back as it was sent', (t) => {
  fc.assert(
    fc.property(bodyOf, ({ type, values, body }) => {
      const spec = specOf(body)
      t.is(spec.type, type)
      const isKept = ([name, value]: [string, unknown]): boolean =>
        credentialTypes[type]!.fields[name]!.kind === 'https-url' ||
        JSON.stringify(spec.fields[name]) === JSON.stringify(value)
      return Object.entries(values).every(isKept)
    }),
  )
})

test('no form shows a secret: every secret field of every type is an empty text', (t) => {
  fc.assert(
    fc.property(bodyOf, ({ type, values, body }) => {
      const spec = specOf(body)
      const form = JSON.stringify(toCredentialForm(stored(spec), spec))
      const secrets = Object.entries(credentialTypes[type]!.fields).filter(([, field]) => field.isSecret)
      return (
        secrets.length > 0 &&
        secrets.every(([name]) => !form.includes(String(values[name])) && form.includes(`"${name}":""`))
      )
    }),
  )
  t.pass()
})

test('a form that is sent back as it was shown keeps every secret', (t) => {
  fc.assert(
    fc.property(bodyOf, ({ block, body }) => {
      const before = specOf(body)
      const { fields } = toCredentialForm(stored(before), before)
      const again = {
        name: 'one',
        type: before.type,
        ownerID: user,
        creationTimestamp: '1970-01-01T00:00:00.000Z',
        [block]: fields,
      } as FreeObject
      t.deepEqual(specOf(again, before), before)
    }),
  )
})

test('a secret never outlives the change of the type', (t) => {
  const aws = specOf({ name: 'one', type: 'Aws', aws: { accessKeyID: 'a', secretAccessKey: 'canary' } })
  const hetzner = complete(mustRead({ name: 'one', type: 'HetznerStorage', hetznerStorage: { accessKeyID: 'a' } }), aws)
  t.true(isLeft(hetzner) && hetzner.left.message === 'hetznerStorage.secretAccessKey is missing.')
})

test('null takes an optional secret away, and a required one cannot be taken', (t) => {
  const before = specOf({
    name: 'one',
    type: 'Aws',
    aws: { accessKeyID: 'a', secretAccessKey: 's', sessionToken: 't' },
  })
  t.is(
    specOf({ name: 'one', type: 'Aws', aws: { accessKeyID: 'a', sessionToken: '' } }, before).fields['sessionToken'],
    't',
  )
  t.is(
    specOf({ name: 'one', type: 'Aws', aws: { accessKeyID: 'a', sessionToken: null } }, before).fields['sessionToken'],
    undefined,
  )
  t.true(
    isLeft(complete(mustRead({ name: 'one', type: 'Aws', aws: { accessKeyID: 'a', secretAccessKey: null } }), before)),
  )
})

const good = { accessKeyID: 'a', secretAccessKey: 's' }
const refused: Readonly<Record<string, FreeObject>> = {
  'no name': { type: 'Aws', aws: good },
  'a name with capitals': { name: 'One', type: 'Aws', aws: good },
  'a name with a slash': { name: 'a/b', type: 'Aws', aws: good },
  'a name of dots': { name: '..', type: 'Aws', aws: good },
  'a name that ends in a hyphen': { name: 'a-', type: 'Aws', aws: good },
  'a name of 254 characters': { name: `${'a'.repeat(63)}.`.repeat(4).slice(0, 254), type: 'Aws', aws: good },
  'an unknown type': { name: 'a', type: 'canary', aws: good },
  'a type in other letters': { name: 'a', type: 'aws', aws: good },
  'a word of the language as the type': { name: 'a', type: 'constructor', aws: good },
  'no block': { name: 'a', type: 'Aws' },
  'the block of another type': { name: 'a', type: 'Aws', azureStorage: { account: 'a', key: 'canary' } },
  'two blocks': { name: 'a', type: 'Aws', aws: good, azureStorage: { account: 'a', key: 'canary' } },
  'a block that is a list': { name: 'a', type: 'Aws', aws: ['canary'] },
  'a block that is a text': { name: 'a', type: 'Aws', aws: 'canary' },
  'a secret beside the block': { name: 'a', type: 'Aws', aws: good, secretAccessKey: 'canary' },
  'a secret as a key': { name: 'a', type: 'Aws', aws: { ...good, canary: 1 } },
  'an unknown key of the body': { name: 'a', type: 'Aws', aws: good, canary: 1 },
  'a field that is a number': { name: 'a', type: 'Aws', aws: { ...good, secretAccessKey: 7 } },
  'a field that is an object': { name: 'a', type: 'Aws', aws: { ...good, secretAccessKey: { canary: 'canary' } } },
  'a field with a NUL': { name: 'a', type: 'Aws', aws: { ...good, secretAccessKey: 'canary\0' } },
  'a field with half a character': { name: 'a', type: 'Aws', aws: { ...good, secretAccessKey: 'canary\ud800' } },
  'a field without an end': { name: 'a', type: 'Aws', aws: { ...good, secretAccessKey: 'canary'.repeat(3000) } },
  'a list with a number': { name: 'a', type: 'GoogleOAuth', googleOAuth: { accessToken: 'canary', scopes: [7] } },
  'an expiry in words': {
    name: 'a',
    type: 'GoogleOAuth',
    googleOAuth: { accessToken: 'canary', expiry: 'tomorrow canary' },
  },
  'an endpoint by http': { name: 'a', type: 'Rancher', rancher: { ...good, endpoint: 'http://canary.example' } },
  'an endpoint with a password': {
    name: 'a',
    type: 'Rancher',
    rancher: { ...good, endpoint: 'https://a:canary@fleet.example' },
  },
  'an endpoint that is no URL': { name: 'a', type: 'Rancher', rancher: { ...good, endpoint: 'canary' } },
  'an owner that is another user': { name: 'a', type: 'Aws', aws: good, ownerID: 8 },
  'an owner that is a text': { name: 'a', type: 'Aws', aws: good, ownerID: '7' },
}

for (const [what, body] of Object.entries(refused)) {
  test(`invalid input is refused without repeating it: ${what}`, (t) => {
    const read = readCredential(body, user)
    t.true(isLeft(read) && read.left.tag === 'CloudCredentialRefused' && !read.left.message.includes('canary'))
  })
}

/** Every text and key of a value begins with a word that we never say. */
const mark = (value: unknown): unknown =>
  typeof value === 'string'
    ? `zq${value}`
    : Array.isArray(value)
      ? value.map(mark)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [`zq${key}`, mark(inner)]))
        : value

test('any object is read or refused without being repeated', (t) => {
  const marked = fc.jsonValue().map((value) => mark(value) as FreeObject)
  fc.assert(
    fc.property(fc.constantFrom(...credentialTypeWords), marked, fc.string(), (type, block, extra) => {
      const read = readCredential({ name: 'one', type, [credentialTypes[type]!.block]: block, [`zq${extra}`]: 1 }, user)
      return isLeft(read) && !read.left.message.includes('zq')
    }),
  )
  t.pass()
})

test('documents are validated by type, and a refusal repeats none of their text', (t) => {
  const real = makeCompleteCredential({ serviceAccounts: serviceAccountReader, kubeconfigs: makeKubeconfigParser() })
  const google = (serviceAccount: string) =>
    real(mustRead({ name: 'one', type: 'GoogleCloud', googleCloud: { serviceAccount } }))
  const account = makeServiceAccount('harbour-1')
  t.true(isRight(google(account.text)))
  const spoilt: readonly object[] = [
    { type: 'external_account', credential_source: { executable: { command: 'canary' } } },
    { type: 'authorized_user' },
    { type: 'impersonated_service_account' },
    { private_key: 'canary' },
    { private_key: '' },
    { client_email: 'canary' },
    { universe_domain: 'canary.example' },
  ]
  for (const change of spoilt) {
    const read = google(JSON.stringify({ ...account.file, ...change }))
    t.true(isLeft(read) && !read.left.message.includes('canary'), JSON.stringify(Object.keys(change)))
  }
  for (const broken of ['canary', '[]', 'null', '"canary"']) t.true(isLeft(google(broken)))
  const kubevirt = real(
    mustRead({ name: 'one', type: 'KubeVirt', kubevirt: { kubeConfig: 'users: [{user: {exec: {command: canary}}}]' } }),
  )
  t.true(isLeft(kubevirt) && !kubevirt.left.message.includes('canary'))
})

test('every word of a cloud names one, and no other word does', (t) => {
  for (const word of cloudWords) t.is(cloudNamed(word), cloudOf(word).name)
  t.deepEqual(['cloudA', 'cloudB', 'cloudC'].map(cloudNamed), ['aws', 'azure', 'google'])
  for (const word of ['', 'AWS', 'toString', '__proto__', 'packet']) t.is(cloudNamed(word), undefined)
  for (const word of cloudWords)
    for (const type of cloudOf(word).cloud.types) t.true(credentialTypeWords.includes(type))
})

const noRequest = { gceProject: undefined }
const placeOf = (name: Parameters<typeof cloudOf>[0], endpoint: string | undefined) => {
  const { name: cloudName, cloud } = cloudOf(name)
  const key = keys.ofSecret(
    cloudName,
    cloud,
    {
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 's',
      ...(endpoint === undefined ? {} : { AWS_ENDPOINT: endpoint }),
    },
    noRequest,
  )
  return isLeft(key) ? 'refused' : key.right.kind === 's3' ? key.right.places : 'other'
}

test('the endpoint in a secret may only be a host that the vendor documents', (t) => {
  t.deepEqual(placeOf('aws', undefined), [])
  t.deepEqual(placeOf('digitalocean', 'https://nyc3.digitaloceanspaces.com/'), [
    { endpoint: 'https://nyc3.digitaloceanspaces.com', region: 'nyc3' },
  ])
  t.deepEqual(placeOf('linode', 'https://us-east-1.linodeobjects.com'), [
    { endpoint: 'https://us-east-1.linodeobjects.com', region: 'us-east-1' },
  ])
  t.deepEqual(placeOf('scaleway', 'https://s3.fr-par.scw.cloud'), [
    { endpoint: 'https://s3.fr-par.scw.cloud', region: 'fr-par' },
  ])
  t.deepEqual(placeOf('cloudflare', `https://${'0af'.repeat(10)}00.r2.cloudflarestorage.com`), [
    { endpoint: `https://${'0af'.repeat(10)}00.r2.cloudflarestorage.com`, region: 'auto' },
  ])
  const hostile = [
    'https://169.254.169.254',
    'https://nyc3.digitaloceanspaces.com.evil.example',
    'https://evil.example/nyc3.digitaloceanspaces.com',
    'https://nyc3.digitaloceanspaces.com@evil.example',
    'http://nyc3.digitaloceanspaces.com',
    'https://nyc3.digitaloceanspaces.com:8443',
    'https://nyc3.digitaloceanspaces.com/x',
    'https://nyc3.digitaloceanspaces.com?x',
    'https://a.b.digitaloceanspaces.com',
    'evil',
    '',
  ]
  for (const endpoint of hostile) t.is(placeOf('digitalocean', endpoint), 'refused', endpoint)
  for (const word of ['digitalocean', 'linode', 'hetzner', 'scaleway', 'vultr', 'cloudflare'] as const)
    t.is(placeOf(word, undefined), 'refused')
  t.is(placeOf('aws', 'https://s3.example'), 'refused')
})

test('stored credentials become cloud keys, and a changed host is refused', (t) => {
  const key = (type: string, fields: Readonly<Record<string, string>>) => {
    const made = keys.ofCredential({ type, fields }, noRequest)
    return isLeft(made) ? 'refused' : made.right
  }
  const s3 = { accessKeyID: 'a', secretAccessKey: 's' }
  t.like(key('Aws', { ...s3, sessionToken: 't' }), { kind: 's3', places: [], accessKeyId: 'a' })
  t.like(key('CloudflareStorage', { ...s3, accountID: '0'.repeat(32) }), {
    kind: 's3',
    places: [{ endpoint: `https://${'0'.repeat(32)}.r2.cloudflarestorage.com`, region: 'auto' }],
  })
  t.is(key('CloudflareStorage', { ...s3, accountID: 'evil.example/' }), 'refused')
  t.like(key('HetznerStorage', s3), {
    places: ['fsn1', 'nbg1', 'hel1'].map((region) => ({
      endpoint: `https://${region}.your-objectstorage.com`,
      region,
    })),
  })
  t.like(key('AzureStorage', { account: 'harbour1', key: 'k' }), { kind: 'azure', account: 'harbour1' })
  for (const account of ['evil.example/x', 'evil.example#', 'UPPER', 'ab', ''])
    t.is(key('AzureStorage', { account, key: 'k' }), 'refused')
  t.is(key('Packet', { projectID: 'p', apiKey: 'k' }), 'refused')
})

test('the project comes from the request, the credential or the account', (t) => {
  const serviceAccount = makeServiceAccount('of-the-account').text
  const project = (gceProject: string | undefined, projectID?: string) => {
    const made = keys.ofCredential(
      { type: 'GoogleCloud', fields: { serviceAccount, ...(projectID === undefined ? {} : { projectID }) } },
      { gceProject },
    )
    return isLeft(made) ? 'refused' : made.right.kind === 'google' ? made.right.projectId : 'other'
  }
  t.is(project('asked', 'stored'), 'asked')
  t.is(project(undefined, 'stored'), 'stored')
  t.is(project('', ''), 'of-the-account')
  t.is(project('a/../b'), 'refused')
})

test('a Secret is read strictly, and values that are not text are omitted', (t) => {
  t.deepEqual(
    readSecretData({ kind: 'Secret', data: { a: Buffer.from('x').toString('base64'), b: '////', c: '%', d: 7 } }),
    { a: 'x' },
  )
  t.deepEqual(readSecretData({ kind: 'Secret' }), {})
  for (const other of [
    undefined,
    null,
    'Secret',
    {},
    { kind: 'ConfigMap', data: { a: 'eA==' } },
    { kind: 'Secret', data: 'eA==' },
  ])
    t.is(readSecretData(other), undefined)
  const { name, cloud } = cloudOf('aws')
  const made = keys.ofSecret(name, cloud, { AWS_ACCESS_KEY_ID: 'a' }, noRequest)
  t.true(isLeft(made) && made.left.message === 'The secret has no AWS_SECRET_ACCESS_KEY.')
  t.true(
    isLeft(
      makeStorageKeys({ serviceAccounts: { read: () => left(CloudCredentialRefused('no')) } }).ofSecret(
        'google',
        cloudOf('gce').cloud,
        { GOOGLE_SERVICE_ACCOUNT_JSON_KEY: 'x' },
        noRequest,
      ),
    ),
  )
})

surroundWithTraps()

let emulator: Emulator
const toVendors = makeEgressClient(makeEgressPolicy(new Set(['public'])), false)
const toOperators = makeEgressClient(makeEgressPolicy(new Set(['loopback', 'private', 'public'])), true)

test.before(async () => {
  emulator = await startEmulator(async (call) =>
    call.url.pathname === '/moved'
      ? { status: 302, headers: { location: '/elsewhere' } }
      : { status: 200, body: '{"ok":true}' },
  )
})
test.after.always(() => Promise.all([emulator.stop(), toVendors.close(), toOperators.close()]))

const refuses = async (t: ExecutionContext, egress: EgressClient, url: string): Promise<void> => {
  t.throws(() => egress.check(new URL(url)), { instanceOf: EgressRefused }, url)
  await t.throwsAsync(egress.fetch(url), { instanceOf: EgressRefused }, url)
}

test.serial('vendor addresses must be public HTTPS without a password', async (t) => {
  for (const url of [
    emulator.origin,
    'http://s3.amazonaws.com',
    'https://a:b@s3.amazonaws.com',
    'https://127.0.0.1',
    'https://[::1]',
    'https://10.0.0.1',
    'https://169.254.169.254',
    'https://[fd00:ec2::254]',
    'https://0x7f000001',
  ])
    await refuses(t, toVendors, url)
  t.is(emulator.seen.length, 0)
})

test.serial('operator endpoints can be plain and private, but not metadata addresses', async (t) => {
  t.deepEqual(await (await toOperators.fetch(emulator.origin)).json(), { ok: true })
  for (const url of [
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]',
    'http://100.100.100.200',
    'ftp://127.0.0.1',
    'http://a:b@127.0.0.1',
  ])
    await refuses(t, toOperators, url)
})

test.serial('a redirect is an answer, not an order', async (t) => {
  t.is((await toOperators.fetch(`${emulator.origin}/moved`)).status, 302)
  t.deepEqual(
    emulator.seen.filter(({ url }) => url.pathname === '/elsewhere'),
    [],
  )
})
