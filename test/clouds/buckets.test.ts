import { randomBytes } from 'node:crypto'
import test from 'ava'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { BucketDirectoryOptions } from '../../adapters/clouds/bucket-directory.ts'
import { makeSdkBucketDirectory } from '../../adapters/clouds/bucket-directory.ts'
import { makeEgressClient } from '../../adapters/outbound/egress-client.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeSqlCloudCredentialStore } from '../../adapters/sql/clouds/cloud-credential-store.ts'
import { maxBuckets } from '../../core/clouds/ports.ts'
import type { AzureKey, GoogleKey, S3Key, StorageKey } from '../../core/clouds/types.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import { eachDatabase } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { startAzureEmulator } from './azure-emulator.ts'
import { cloudCredentialStoreSuite } from './cloud-credential-store.suite.ts'
import type { Emulator } from './emulator.ts'
import { startEmulator } from './emulator.ts'
import type { GoogleEmulators } from './google-emulator.ts'
import { makeServiceAccount, startGoogleEmulators } from './google-emulator.ts'
import { surroundWithTraps } from './hostile-surroundings.ts'
import { startS3Emulator } from './s3-emulator.ts'
import { declareSuite } from '../support/declare-suite.ts'

surroundWithTraps()

const named = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
const buckets = named('bucket', 7)
const awsSecret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
const azureSecret = randomBytes(64).toString('base64')
const account = makeServiceAccount('harbour-1')

const s3Key: S3Key = {
  kind: 's3',
  places: [],
  accessKeyId: 'AKIAHARBOUR',
  secretAccessKey: secret(awsSecret),
  sessionToken: undefined,
}
const temporary: S3Key = { ...s3Key, accessKeyId: 'ASIAHARBOUR', sessionToken: secret('session-token-1') }
const azureKey: AzureKey = { kind: 'azure', account: 'harbour', key: secret(azureSecret) }
const googleKey: GoogleKey = {
  kind: 'google',
  projectId: 'harbour-1',
  clientEmail: account.clientEmail,
  privateKey: secret(account.file.private_key),
  privateKeyId: 'kid-1',
}

let s3: Emulator
let azure: Emulator
let google: GoogleEmulators
let elsewhere: Emulator
const vendorEgress = makeEgressClient(makeEgressPolicy(new Set(['public'])), false)
const operatorEgress = makeEgressClient(makeEgressPolicy(new Set(['loopback'])), true)

test.before(async () => {
  s3 = await startS3Emulator(
    [
      { accessKeyId: 'AKIAHARBOUR', secretAccessKey: awsSecret, buckets },
      { accessKeyId: 'ASIAHARBOUR', secretAccessKey: awsSecret, sessionToken: 'session-token-1', buckets },
      { accessKeyId: 'AKIAMANY', secretAccessKey: awsSecret, buckets: named('many', maxBuckets + 5) },
    ],
    3000,
  )
  azure = await startAzureEmulator(
    [
      { account: 'harbour', key: azureSecret, containers: buckets },
      { account: 'many', key: azureSecret, containers: named('many', maxBuckets + 5) },
    ],
    3,
  )
  google = await startGoogleEmulators(
    [
      {
        clientEmail: account.clientEmail,
        publicKey: account.publicKey,
        buckets: { 'harbour-1': buckets, 'many-1': named('many', maxBuckets + 5) },
      },
    ],
    3,
  )
  elsewhere = await startEmulator(async () => ({ status: 200, body: '' }))
})
test.after.always(async () => {
  await Promise.all([s3, azure, google, elsewhere].map((each) => each.stop()))
  await Promise.all([vendorEgress.close(), operatorEgress.close()])
})
test.afterEach.always(() => {
  for (const each of [s3, azure, google.storage, google.tokens]) each.instead = undefined
})

const directory = (changes: Partial<BucketDirectoryOptions> = {}) =>
  makeSdkBucketDirectory({
    endpoints: {
      aws: s3.origin,
      azure: azure.origin,
      google: google.storage.origin,
      googleToken: google.tokens.origin,
    },
    vendorEgress,
    operatorEgress,
    ...changes,
  })
const list = (key: StorageKey, changes: Partial<BucketDirectoryOptions> = {}) =>
  directory(changes).list(key, new AbortController().signal)
const namesOf = async (key: StorageKey): Promise<readonly string[]> => {
  const listed = await list(key)
  if (isLeft(listed)) throw new Error(listed.left.message)
  return listed.right
}
const failureOf = async (
  key: StorageKey,
  changes: Partial<BucketDirectoryOptions> = {},
): Promise<{ readonly tag: string; readonly message: string }> => {
  const listed = await list(key, changes)
  if (!isLeft(listed)) throw new Error('a failure was expected')
  return listed.left
}

const clouds = [
  { name: 'S3', key: s3Key, emulator: () => s3, wrong: { ...s3Key, secretAccessKey: secret('another secret') } },
  {
    name: 'Azure',
    key: azureKey,
    emulator: () => azure,
    wrong: { ...azureKey, key: secret(randomBytes(64).toString('base64')) },
  },
  {
    name: 'Google',
    key: googleKey,
    emulator: () => google.storage,
    wrong: { ...googleKey, privateKey: secret(makeServiceAccount('harbour-1').file.private_key) },
  },
] as const

for (const { name, key, emulator, wrong } of clouds) {
  test.serial(`${name}: every page is requested with a correct signature`, async (t) => {
    const before = emulator().seen.length
    t.deepEqual(await namesOf(key), buckets)
    t.is(emulator().seen.length - before, name === 'S3' ? 1 : 3)
  })

  test.serial(`${name}: a wrong key is refused without the vendor's message`, async (t) => {
    const failure = await failureOf(wrong)
    t.is(failure.tag, 'CloudKeyRefused')
    t.regex(
      failure.message,
      /^The cloud does not accept the key, or not for listing buckets \((?:SignatureDoesNotMatch|AuthenticationFailed|invalid_grant)\)\.$/,
    )
  })

  test.serial(`${name}: a failing vendor is reported as unreachable`, async (t) => {
    emulator().instead = {
      status: 503,
      body: name === 'Google' ? '{"error":{"message":"vendor text"}}' : '<Error><Code>SlowDown</Code></Error>',
    }
    const failure = await failureOf(key)
    t.is(failure.tag, 'CloudUnreachable')
    t.notRegex(failure.message, /vendor text/)
  })

  test.serial(`${name}: an answer that is no list is a failure, not a crash`, async (t) => {
    emulator().instead = { status: 200, body: 'not a list at all <' }
    const listed = await list(key)
    t.true(
      isLeft(listed) ? ['CloudUnreachable', 'CloudKeyRefused'].includes(listed.left.tag) : listed.right.length === 0,
    )
  })

  test.serial(`${name}: a redirect to another host is not followed`, async (t) => {
    emulator().instead = { status: 307, headers: { location: `${elsewhere.origin}/steal` }, body: '' }
    t.is((await failureOf(key)).tag, 'CloudUnreachable')
    t.is(elsewhere.seen.length, 0)
  })

  test.serial(`${name}: a vendor that never answers is given up`, async (t) => {
    emulator().instead = 'silence'
    t.deepEqual(await failureOf(key, { deadlineMilliseconds: 200 }).then(({ tag, message }) => [tag, message]), [
      'CloudUnreachable',
      'The cloud did not answer in time.',
    ])
  })

  test.serial(`${name}: a missing vendor package is named with the install command`, async (t) => {
    const missing = () =>
      Promise.reject(
        Object.assign(
          new Error("Cannot find package '@aws-sdk/client-s3' '@azure/storage-blob' '@google-cloud/storage'"),
          { code: 'ERR_MODULE_NOT_FOUND' },
        ),
      )
    const failure = await failureOf(key, { load: { s3: missing, azure: missing, google: missing } })
    t.is(failure.tag, 'CloudSdkMissing')
    t.regex(failure.message, /npm install @/)
  })
}

test.serial('a failure inside of a vendor package is not taken for its absence', async (t) => {
  const broken = () =>
    Promise.reject(Object.assign(new Error("Cannot find package 'a-part-of-it'"), { code: 'ERR_MODULE_NOT_FOUND' }))
  await t.throwsAsync(list(s3Key, { load: { s3: broken } }), { message: /a-part-of-it/ })
})

test.serial('a session token is sent and signed', async (t) => {
  t.deepEqual(await namesOf(temporary), buckets)
  t.is(
    (await failureOf({ ...temporary, sessionToken: secret('an old one') })).message,
    'The cloud does not accept the key, or not for listing buckets (InvalidToken).',
  )
})

test.serial('the number of listed names is limited over all pages', async (t) => {
  const before = s3.seen.length
  t.is((await namesOf({ ...s3Key, accessKeyId: 'AKIAMANY' })).length, maxBuckets)
  t.is(s3.seen.length - before, 10)
  t.deepEqual(
    s3.seen.slice(before).map(({ url }) => url.searchParams.get('max-buckets')),
    Array.from({ length: 10 }, () => '1000'),
  )
})

test.serial('a project that the account cannot list is refused', async (t) => {
  t.is(
    (await failureOf({ ...googleKey, projectId: 'other-1' })).message,
    'The cloud does not accept the key, or not for listing buckets (forbidden).',
  )
  t.is(google.storage.seen.at(-1)?.url.searchParams.get('project'), 'other-1')
})

test.serial('a clock that is wrong is not the fault of the key', async (t) => {
  s3.instead = { status: 403, body: '<Error><Code>RequestTimeTooSkewed</Code></Error>' }
  t.is((await failureOf(s3Key)).tag, 'CloudUnreachable')
})

test.serial('the way to the vendors leads to no loopback address, literal or by name', async (t) => {
  const before = s3.seen.length
  const named127 = makeEgressClient(
    makeEgressPolicy(new Set(['public']), (_, __, done) => done(null, [{ address: '127.0.0.1', family: 4 }])),
    false,
  )
  t.teardown(() => named127.close())
  const at = (endpoint: string): S3Key => ({ ...s3Key, places: [{ endpoint, region: 'fsn1' }] })
  const refused = 'The address of the cloud is not one that this service may connect to.'
  t.is((await failureOf(at(s3.origin.replace('http:', 'https:')))).message, refused)
  t.is((await failureOf(at('https://fsn1.your-objectstorage.com'), { vendorEgress: named127 })).message, refused)
  t.is((await failureOf(at(s3.origin))).message, refused)
  const none = { aws: undefined, azure: undefined, google: undefined, googleToken: undefined }
  for (const key of [s3Key, azureKey, googleKey])
    t.is((await failureOf(key, { endpoints: none, vendorEgress: named127 })).message, refused)
  t.is(s3.seen.length, before)
})

for (const database of eachDatabase()) {
  declareSuite(cloudCredentialStoreSuite, database.name, async () => {
    const db = await database.open()
    await storeFixture(db, { users: [1, 2], orgs: [], clusters: [], tokens: [] })
    return {
      store: makeSqlCloudCredentialStore(db)(db),
      user: 1 as UserId,
      other: 2 as UserId,
      removeUser: async (user) => void (await db.query((k) => k('accounts').where('id', user).delete())),
      close: () => db.close(),
    }
  })
}

test.serial('a list that ends does not cut off another that is under way', async (t) => {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = await startEmulator(async () => {
    await released
    return {
      status: 200,
      body: '<?xml version="1.0"?><ListAllMyBucketsResult><Buckets><Bucket><Name>late</Name></Bucket></Buckets></ListAllMyBucketsResult>',
    }
  })
  try {
    const underWay = list(s3Key, {
      endpoints: {
        aws: slow.origin,
        azure: azure.origin,
        google: google.storage.origin,
        googleToken: google.tokens.origin,
      },
    })
    await until('the slow list is under way', () => slow.seen.length > 0 || undefined)
    t.deepEqual(await namesOf(s3Key), buckets)
    release()
    t.deepEqual(await underWay, right(['late']))
  } finally {
    release()
    await slow.stop()
  }
})
