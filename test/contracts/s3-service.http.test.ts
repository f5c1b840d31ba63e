import { readFileSync } from 'node:fs'
import test from 'ava'
import { expectStatus, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { plantLicenseAuthority } from '../support/plant-license-authority.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { runJob } from './run-job.ts'
import { startS3Store, type S3Store } from './s3-store.ts'
import { openPatiently } from '../support/databases.ts'

/** The whole service with its documents in an S3-compatible store that checks each signature. */

const pdf = (text: string): string => `%PDF-1.7\n${text}\n%%EOF\n`
const now = Math.floor(Date.now() / 1000)
let store: S3Store
let service: TestService
let owner: Person
let org: string
let authorityKey: string

test.before(async () => {
  store = await startS3Store(() => new Date())
  service = await startService({
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_CONTRACT_DOCUMENTS: store.url,
      MOORAGE_LOG_LEVEL: 'trace',
    },
  })
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  authorityKey = (await plantLicenseAuthority(service)).key.reveal()
})
test.after.always(async () => {
  await service?.stop()
  await store?.emulator.stop()
})

const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1/contracts${path}`, {
    token: service.adminToken,
    ...(body === undefined ? {} : { body }),
  })
/** A contract that is in force, or one that begins later and can be deleted. */
const create = async (start = now - 60): Promise<number> =>
  (
    await expectStatus(
      admin('POST', '', {
        orgOrUser: org,
        name: 'Sold',
        products: ['database'],
        features: ['db'],
        start,
        end: now + 86_400,
        allowOffline: true,
      }),
      201,
    )
  ).json[0].id
const upload = (id: number, text: string): Promise<ServiceAnswer> =>
  admin('PUT', `/${id}/document`, { document: Buffer.from(pdf(text)).toString('base64'), fileName: `${text}.pdf` })
const ask = (id: number): Promise<ServiceAnswer> =>
  service.send('GET', `/api/v1/user/contracts/${id}/document?org=${org}`, { token: owner.token })
const linkOf = async (id: number): Promise<string> => (await expectStatus(ask(id), 200)).json as string
const stored = (): readonly string[] => [...store.objects.values()].map(({ body }) => body)

test.serial('a document is uploaded, downloaded, replaced and deleted in S3', async (t) => {
  const id = await create(now + 3600)
  await expectStatus(upload(id, 'first'), 200)
  const first = await linkOf(id)
  t.true(first.startsWith(`${store.emulator.origin}/contracts/moorage/documents/`))
  const answer = await fetch(first)
  t.deepEqual([answer.status, await answer.text()], [200, pdf('first')])
  t.regex(answer.headers.get('content-disposition') ?? '', /^attachment; filename="first\.pdf"/)
  await expectStatus(upload(id, 'second'), 200)
  t.is((await fetch(first)).status, 404)
  t.deepEqual(stored(), [pdf('second')])
  t.is((await fetch((await linkOf(id)).replace(/X-Amz-Signature=\w{4}/, 'X-Amz-Signature=0000'))).status, 403)
  await expectStatus(admin('DELETE', `/${id}`), 200)
  t.deepEqual(stored(), [])
})

test.serial('an S3 outage is 503 and changes nothing, and removals are retried', async (t) => {
  const [kept, removed] = [await create(), await create(now + 3600)]
  await expectStatus(upload(kept, 'kept'), 200)
  await expectStatus(upload(removed, 'removed'), 200)
  store.emulator.instead = { status: 503, body: '<Error><Code>SlowDown</Code><Message>vendor text</Message></Error>' }
  for (const refused of [await upload(kept, 'lost'), await ask(kept)]) {
    t.is(refused.status, 503, refused.text)
    t.notRegex(refused.text, /vendor text|AKIA/)
  }
  await expectStatus(admin('DELETE', `/${removed}`), 200)
  await runJob(service, 'contracts.removeDocuments')
  t.deepEqual([...stored()].sort(), [pdf('kept'), pdf('removed')])
  store.emulator.instead = undefined
  await runJob(service, 'contracts.removeDocuments')
  t.deepEqual(stored(), [pdf('kept')])
  t.is(await (await fetch(await linkOf(kept))).text(), pdf('kept'))
  const events = (await expectStatus(admin('GET', `/${kept}/audit`), 200)).json as { event: string }[]
  t.deepEqual(
    events.map(({ event }) => event),
    ['contract.created', 'document.uploaded', 'document.downloaded'],
  )
})

test.serial('an abandoned upload is removed after an hour, an active one stays', async (t) => {
  const before = stored().length
  const database = await openPatiently(service.databaseUrl)
  try {
    const refs = ['0d6f1c5e-6a0f-4a53-9c39-5f1d2f6f2a11', '1d6f1c5e-6a0f-4a53-9c39-5f1d2f6f2a11']
    const removals = (due: number, ref: string) =>
      database.query((k) => k('contract_document_removals').insert({ ref, due_at: due }))
    const path = (ref: string): string => `/contracts/moorage/documents/${ref}`
    // First of all: the service runs the job too, as soon as there is something to remove.
    for (const ref of refs) (store.objects as Map<string, unknown>).set(path(ref), { body: '', type: '' })
    await removals(Date.now() - 1, refs[0] ?? '')
    await removals(Date.now() + 3_000_000, refs[1] ?? '')
    await runJob(service, 'contracts.removeDocuments')
    t.deepEqual(
      refs.map((ref) => store.objects.has(path(ref))),
      [false, true],
    )
    t.is(stored().length, before + 1)
    t.deepEqual(
      await database.query<{ ref: string }>((k) =>
        k('contract_document_removals').where('due_at', '<', Date.now() + 60_000),
      ),
      [],
    )
  } finally {
    await database.close()
  }
})

test.serial('logs hold no private key or signed link, and the database no key', async (t) => {
  const id = await create()
  await expectStatus(upload(id, 'secret'), 200)
  const link = await linkOf(id)
  const [{ id: ccId }] = (
    await expectStatus(admin('POST', `/${id}/clusters`, [{ cluster: '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11' }]), 201)
  ).json as [{ id: number }]
  await expectStatus(admin('POST', `/${id}/clusters/${ccId}/issue-license`), 200)
  await expectStatus(service.send('GET', '/api/v1/licenses/crl.pem'), 200)
  store.emulator.instead = { status: 403, body: link }
  await upload(id, 'refused')
  store.emulator.instead = undefined
  const keyLines = authorityKey.split('\n').filter((line) => line !== '' && !line.startsWith('-----'))
  const secrets = [
    store.secretAccessKey,
    encodeURIComponent(store.secretAccessKey),
    new URL(link).searchParams.get('X-Amz-Signature') ?? '',
    ...keyLines,
    'PRIVATE KEY',
  ]
  t.true(secrets.length >= 6 && secrets.every((each) => each.length > 8))
  const log = service.logText()
  t.true(log.includes(`contracts.uploadDocument`), 'requests are logged')
  t.deepEqual(
    secrets.filter((each) => log.includes(each)),
    [],
  )
  const bytes = ['', '-wal']
    .map((end) => readFileSync(`${service.databaseUrl.replace('sqlite:', '')}${end}`, 'latin1'))
    .join('')
  t.true(bytes.includes('BEGIN CERTIFICATE'))
  t.deepEqual(
    secrets.filter((each) => bytes.includes(each)),
    [],
  )
})
