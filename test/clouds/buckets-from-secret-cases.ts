import type { TestFn } from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { startService, type TestService } from '../support/service.ts'
import { startAzureEmulator } from './azure-emulator.ts'
import type { Emulator } from './emulator.ts'
import { makeServiceAccount, startGoogleEmulators, type GoogleEmulators } from './google-emulator.ts'
import { startS3Emulator } from './s3-emulator.ts'

/** A member cluster in which secrets can be laid and people be let at them. */
export interface MemberCluster {
  kubeconfig(): string
  createNamespace(): Promise<string>
  putSecret(namespace: string, name: string, data: Readonly<Record<string, string>>): Promise<void>
  /** Lets the user whom the cluster sees by that name read the secrets of the namespace. */
  letRead(namespace: string, user: string): Promise<void>
  stop(): Promise<void>
}

const buckets = ['alpha', 'beta', 'gamma']
const azureSecret = Buffer.from('azure secret of the harbour').toString('base64')
const account = makeServiceAccount('harbour-1')

/** What holds when the key comes from a Secret, whichever cluster it is in. */
export const bucketsFromSecretCases = (test: TestFn, name: string, makeMember: () => Promise<MemberCluster>): void => {
  let member: MemberCluster
  let service: TestService
  let owner: Person
  let stranger: Person
  let namespace: string
  let uid: string
  let s3: Emulator
  let azure: Emulator
  let google: GoogleEmulators
  let org: string
  const clusterName = `member-${name}`

  test.before(async () => {
    s3 = await startS3Emulator([{ accessKeyId: 'AKIAHARBOUR', secretAccessKey: 'canary-aws-secret', buckets }], 2)
    azure = await startAzureEmulator([{ account: 'harbour', key: azureSecret, containers: buckets }], 2)
    google = await startGoogleEmulators(
      [{ clientEmail: account.clientEmail, publicKey: account.publicKey, buckets: { 'harbour-1': buckets } }],
      2,
    )
    member = await makeMember()
    service = await startService({
      settings: {
        MOORAGE_CLOUD_A_STORAGE_ENDPOINT: s3.origin,
        MOORAGE_CLOUD_B_STORAGE_ENDPOINT: azure.origin,
        MOORAGE_CLOUD_C_STORAGE_ENDPOINT: google.storage.origin,
        MOORAGE_CLOUD_C_TOKEN_ENDPOINT: google.tokens.origin,
        MOORAGE_LOG_LEVEL: 'trace',
      },
    })
    const people = makePeople(service)
    owner = await people.person('owner')
    stranger = await people.person('stranger')
    org = await people.organization(owner)
    const imported = await expectStatus(
      importCluster(service.send, owner.token, org, clusterName, member.kubeconfig(), { impersonateUsers: true }),
      200,
    )
    uid = imported.json.uid as string
    namespace = await member.createNamespace()
    await member.putSecret(namespace, 'aws', {
      AWS_ACCESS_KEY_ID: 'AKIAHARBOUR',
      AWS_SECRET_ACCESS_KEY: 'canary-aws-secret',
    })
    await member.putSecret(namespace, 'aws-wrong', {
      AWS_ACCESS_KEY_ID: 'AKIAHARBOUR',
      AWS_SECRET_ACCESS_KEY: 'canary-wrong-secret',
    })
    await member.putSecret(namespace, 'aws-elsewhere', {
      AWS_ACCESS_KEY_ID: 'AKIAHARBOUR',
      AWS_SECRET_ACCESS_KEY: 'canary-aws-secret',
      AWS_ENDPOINT: 'https://169.254.169.254',
    })
    await member.putSecret(namespace, 'azure', { AZURE_ACCOUNT_NAME: 'harbour', AZURE_ACCOUNT_KEY: azureSecret })
    await member.putSecret(namespace, 'google', {
      GOOGLE_SERVICE_ACCOUNT_JSON_KEY: account.text,
      GOOGLE_PROJECT_ID: 'harbour-1',
    })
    await member.letRead(namespace, `moorage:${owner.login}`)
  })
  test.after.always(async () => {
    await service?.stop()
    await Promise.all([member?.stop(), s3?.stop(), azure?.stop(), google?.stop()])
  })

  const ask = (
    cloud: string,
    secretName: string,
    changes: { readonly token?: string; readonly uid?: string; readonly namespace?: string } = {},
  ) =>
    service.send('GET', `/api/v1/user/clouds/${cloud}/buckets`, {
      token: changes.token ?? owner.token,
      body: {
        cluster_uid: changes.uid ?? uid,
        secret_namespace: changes.namespace ?? namespace,
        secret_name: secretName,
      },
    })

  test.serial(`${name}: the secret of a member cluster opens each of the clouds`, async (t) => {
    for (const [cloud, secretName] of [
      ['aws', 'aws'],
      ['cloudB', 'azure'],
      ['gce', 'google'],
    ] as const) {
      const listed = await expectStatus(ask(cloud, secretName), 200)
      t.deepEqual(listed.json, { names: buckets })
    }
    const query = new URLSearchParams({ cluster_uid: uid, secret_namespace: namespace, secret_name: 'aws' })
    t.deepEqual(
      (await expectStatus(service.send('GET', `/api/v1/user/clouds/aws/buckets?${query}`, { token: owner.token }), 200))
        .json,
      { names: buckets },
    )
  })

  test.serial(`${name}: a refused key and a foreign endpoint are 422`, async (t) => {
    t.is((await expectStatus(ask('aws', 'aws-wrong'), 422)).json.code, 'CloudKeyRefused')
    t.is((await expectStatus(ask('aws', 'aws-elsewhere'), 422)).json.code, 'BucketSourceRefused')
    t.is((await expectStatus(ask('azure', 'aws'), 422)).json.message, 'The secret has no AZURE_ACCOUNT_NAME.')
  })

  test.serial(`${name}: a denial by the cluster is 403, and a missing object 404`, async (t) => {
    const closed = await member.createNamespace()
    await member.putSecret(closed, 'aws', {
      AWS_ACCESS_KEY_ID: 'AKIAHARBOUR',
      AWS_SECRET_ACCESS_KEY: 'canary-aws-secret',
    })
    const before = s3.seen.length
    const denied = await expectStatus(ask('aws', 'aws', { namespace: closed }), 403)
    t.deepEqual(
      [denied.json.code, denied.json.message],
      ['SecretForbidden', 'The cluster does not let you read that secret.'],
    )
    t.is((await expectStatus(ask('aws', 'none'), 404)).json.code, 'SecretMissing')
    for (const bad of ['../secrets/aws', 'aws?watch=1', 'a%2Fb', 'AWS'])
      t.is((await expectStatus(ask('aws', bad), 422)).json.code, 'BucketSourceRefused', bad)
    t.is(s3.seen.length, before)
  })

  test.serial(`${name}: a caller who may not connect to the cluster learns nothing of it`, async (t) => {
    const foreign = await expectStatus(ask('aws', 'aws', { token: stranger.token }), 404)
    const unknown = await expectStatus(
      ask('aws', 'aws', { token: stranger.token, uid: '00000000-0000-4000-8000-000000000000' }),
      404,
    )
    t.is(foreign.json.message, unknown.json.message)
    const { code } = (await expectStatus(ask('aws', 'aws', { uid: 'x'.repeat(64) }), 404)).json
    t.is(code, 'ClusterMissing')
  })

  test.serial(`${name}: a member who may see the cluster and not connect to it is denied`, async (t) => {
    const people = makePeople(service)
    const looker = await people.person('looker')
    await people.teamWithRole(owner, org, [looker], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
    await member.letRead(namespace, `moorage:${looker.login}`)
    t.is((await expectStatus(ask('aws', 'aws', { token: looker.token }), 403)).json.code, 'AccessDenied')
  })

  test.serial(`${name}: a token without a scope for clusters reaches into none`, async (t) => {
    const narrow = await service.tokenFor(owner.login, ['read:user'])
    const before = s3.seen.length
    t.is((await expectStatus(ask('aws', 'aws', { token: narrow }), 403)).json.code, 'AccessDenied')
    t.is(s3.seen.length, before)
    await expectStatus(
      ask('aws', 'aws', { token: await service.tokenFor(owner.login, ['read:user', 'read:cluster']) }),
      200,
    )
  })

  test.serial(`${name}: none of the secrets is in the log`, (t) => {
    const log = service.logText()
    for (const value of ['canary-', azureSecret, 'PRIVATE KEY', account.file.private_key.split('\n')[1] ?? 'never'])
      t.false(log.includes(value))
    t.true(log.includes('clouds.listBuckets'))
  })
}
