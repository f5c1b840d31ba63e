import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeFolderDocuments } from '../../adapters/documents/folder-documents.ts'
import { writeWhole } from '../../adapters/system/files.ts'
import type { DocumentLink } from '../../core/contracts/ports.ts'
import { documentNameOf, documentTypeOf } from '../../core/contracts/documents.ts'
import type { ContractDocument } from '../../core/contracts/types.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makePeople, expectStatus, type Person } from '../clusters/cluster-fixture.ts'
import { unwrap } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { anyText } from '../support/any-text.ts'

const maxDocumentBytes = 26_214_400

const linkSeconds = 1800

const pdf = (text = ''): Buffer => Buffer.from(`%PDF-1.7\n${text}\n%%EOF\n`)
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

// The folder, with instants that the test chooses.

const now = new Date('2026-05-01T08:00:00.250Z')
const until = new Date(now.getTime() + linkSeconds * 1000)
const after = (milliseconds: number): Date => new Date(now.getTime() + milliseconds)

const stored = async (key = new Uint8Array(randomBytes(32))) => {
  const folder = await mkdtemp(join(tmpdir(), 'moorage-documents-'))
  const documents = makeFolderDocuments({
    folder,
    key: secret(key),
    routeUrl: () => 'https://platform.example/api/v1/contract-documents',
    write: writeWhole,
  })
  const document: ContractDocument = {
    ref: randomUUID(),
    fileName: 'Vertrag & Anhang.pdf',
    mediaType: 'application/pdf',
    size: 5,
  }
  unwrap(await documents.put(document, pdf()))
  return { folder, documents, document, end: () => rm(folder, { recursive: true }) }
}
const linkIn = (url: string): DocumentLink => {
  const { pathname, searchParams: query } = new URL(url)
  return {
    ref: pathname.split('/').at(-1)!,
    expires: Number(query.get('expires')),
    fileName: query.get('name')!,
    mediaType: query.get('type')!,
    signature: query.get('signature')!,
  }
}

test('a link is valid for 29:59.999 and refused at 30:00', async (t) => {
  const { documents, document, end } = await stored()
  const link = linkIn(unwrap(await documents.link(document, now, until)))
  for (const milliseconds of [0, 1_799_000, 1_799_999])
    t.deepEqual(Buffer.from(unwrap(await documents.open(link, after(milliseconds)))), pdf())
  for (const milliseconds of [1_800_000, 1_801_000, 86_400_000]) {
    const refused = await documents.open(link, after(milliseconds))
    t.is(isLeft(refused) && refused.left.tag, 'DocumentLinkRefused')
  }
  await end()
})

test('no part of a link can be changed, and no other key signs one', async (t) => {
  const { documents, document, folder, end } = await stored()
  const link = linkIn(unwrap(await documents.link(document, now, until)))
  const other = { ...document, ref: randomUUID() }
  unwrap(await documents.put(other, pdf('other')))
  const change = fc.oneof(
    fc.constantFrom(other.ref, '../keyring.json', '', `${document.ref}/..`).map((ref) => ({ ref })),
    fc
      .integer({ min: 0, max: 2 ** 48 })
      .filter((expires) => expires !== link.expires)
      .map((expires) => ({ expires })),
    fc
      .string()
      .filter((fileName) => fileName !== link.fileName)
      .map((fileName) => ({ fileName })),
    fc.constantFrom('text/html', 'image/png', '').map((mediaType) => ({ mediaType })),
    fc
      .base64String()
      .filter((signature) => signature !== link.signature)
      .map((signature) => ({ signature })),
    fc
      .constantFrom(link.signature.slice(1), `${link.signature}A`, link.signature.toUpperCase())
      .map((signature) => ({ signature })),
  )
  await fc.assert(
    fc.asyncProperty(change, async (changed) => {
      const opened = await documents.open({ ...link, ...changed }, now)
      t.is(isLeft(opened) && opened.left.tag, 'DocumentLinkRefused')
    }),
  )
  const foreign = makeFolderDocuments({
    folder,
    key: secret(new Uint8Array(32)),
    routeUrl: () => 'https://platform.example',
    write: writeWhole,
  })
  t.true(isLeft(await documents.open(linkIn(unwrap(await foreign.link(document, now, until))), now)))
  await end()
})

test('a folder that is lost or full of something else is 503, and leaves nothing half', async (t) => {
  const { documents, document, folder, end } = await stored()
  const link = linkIn(unwrap(await documents.link(document, now, until)))
  await rename(folder, `${folder}.away`)
  await writeFile(folder, 'not a folder')
  const failures = [
    await documents.put({ ...document, ref: randomUUID() }, pdf()),
    await documents.link(document, now, until),
    await documents.open(link, now),
  ]
  t.deepEqual(
    failures.map((each) => isLeft(each) && each.left.tag),
    ['DocumentStoreDown', 'DocumentStoreDown', 'DocumentStoreDown'],
  )
  t.false(JSON.stringify(failures).includes(folder), 'no path of this machine is shown')
  await rm(folder)
  await rename(`${folder}.away`, folder)
  t.deepEqual(await readdir(folder), [document.ref])
  t.deepEqual(Buffer.from(unwrap(await documents.open(link, now))), pdf())
  unwrap(await documents.remove(document.ref))
  unwrap(await documents.remove(document.ref))
  t.deepEqual(await readdir(folder), [])
  await end()
})

test('the content decides on the type, and a name is one plain part with its ending', (t) => {
  t.deepEqual(
    [pdf(), png, Buffer.from([0xff, 0xd8, 0xff, 0xe0])].map((bytes) => documentTypeOf(bytes)?.ending),
    ['pdf', 'png', 'jpg'],
  )
  for (const bad of [
    Buffer.alloc(0),
    Buffer.from('PK\x03\x04'),
    Buffer.from('<html>%PDF-1.7'),
    Buffer.from(' %PDF-1.7'),
    Buffer.from('%PDF'),
  ])
    t.is(documentTypeOf(bad), undefined)
  const type = documentTypeOf(pdf())!
  const names = [
    ['a.pdf', 'a.pdf'],
    ['', 'contract.pdf'],
    ['../../etc/passwd', 'passwd.pdf'],
    ['C:\\x\\y.PDF', 'y.PDF'],
    ['..', 'contract.pdf'],
    ['page.html', 'page.html.pdf'],
    ['a\r\nb"c.pdf', 'abc.pdf'],
  ]
  for (const [given = '', wanted = ''] of names) t.is(documentNameOf(given, type), wanted)
  fc.assert(fc.property(anyText(), (given) => t.regex(documentNameOf(given, type), /^[^\p{Cc}/\\"<>]{1,204}\.pdf$/iu)))
})

// Over HTTP.

let service: TestService
let owner: Person
let stranger: Person
let org: string
let otherOrg: string
let dataDir: string
let folder: string

test.before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'moorage-documents-'))
  folder = join(dataDir, 'documents')
  service = await startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_DATA_DIR: dataDir } })
  const people = makePeople(service)
  owner = await people.person('owner')
  stranger = await people.person('stranger')
  org = await people.organization(owner)
  otherOrg = await people.organization(stranger)
})
test.after.always(async () => {
  await service?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: service.adminToken, ...(body === undefined ? {} : { body }) })
const as = (person: Person, path: string): Promise<ServiceAnswer> => service.send('GET', path, { token: person.token })
const seconds = Math.floor(Date.now() / 1000)
/** A contract that is in force, or one that begins later and can be deleted. */
const contract = async (start = seconds - 60): Promise<number> =>
  (
    await expectStatus(
      admin('POST', '/api/v1/contracts', {
        orgOrUser: org,
        name: `Contract ${randomUUID()}`,
        products: ['database'],
        features: ['db'],
        start,
        end: seconds + 86_400,
      }),
      201,
    )
  ).json[0].id
const put = (id: number, bytes: Uint8Array, fileName = 'contract.pdf'): Promise<ServiceAnswer> =>
  admin('PUT', `/api/v1/contracts/${id}/document`, { document: Buffer.from(bytes).toString('base64'), fileName })
const linkOf = async (id: number): Promise<string> =>
  (await expectStatus(as(owner, `/api/v1/user/contracts/${id}/document?org=${org}`), 200)).json as string
const download = async (url: string) => {
  const answer = await fetch(url)
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}
const events = async (id: number): Promise<readonly string[]> =>
  (await expectStatus(admin('GET', `/api/v1/contracts/${id}/audit?limit=50`), 200)).json.map(
    ({ event }: { readonly event: string }) => event,
  )

test.serial('the owner downloads the document by an unlogged link without credentials', async (t) => {
  const id = await contract()
  await expectStatus(as(owner, `/api/v1/user/contracts/${id}/document?org=${org}`), 404)
  const bytes = pdf(randomBytes(5000).toString('latin1'))
  t.true((await expectStatus(put(id, bytes, 'Vertrag “final”.pdf'), 200)).json.hasDocument)
  const url = await linkOf(id)
  const { status, headers, bytes: got } = await download(url)
  t.is(status, 200)
  t.deepEqual(got, bytes)
  t.is(headers.get('content-type'), 'application/pdf')
  t.regex(
    headers.get('content-disposition')!,
    /^attachment; filename="Vertrag__final_\.pdf"; filename\*=UTF-8''Vertrag%20/,
  )
  t.is(headers.get('x-content-type-options'), 'nosniff')
  t.is(headers.get('cache-control'), 'private, no-store')
  t.is(
    (await download(url.replace(/signature=(.)/, (_, first: string) => `signature=${first === 'A' ? 'B' : 'A'}`)))
      .status,
    403,
  )
  t.is((await download(url.replace(/expires=\d+/, 'expires=99999999999999'))).status, 403)
  t.is((await download(url.replace('application%2Fpdf', 'text%2Fhtml'))).status, 403)
  for (const path of [
    '/api/v1/contract-documents',
    '/api/v1/contract-documents/',
    '/api/v1/contract-documents/..%2f..%2fkeyring.json',
  ])
    t.true([404, 422, 400].includes((await as(owner, path)).status), path)
  const { signature } = linkIn(url)
  t.false(service.logText().includes(signature))
  t.deepEqual(await events(id), ['contract.created', 'document.uploaded', 'document.downloaded'])
})

test.serial('a new document replaces the old one and its link', async (t) => {
  const id = await contract()
  await expectStatus(put(id, pdf('first')), 200)
  const first = await linkOf(id)
  await expectStatus(put(id, png, 'scan'), 200)
  t.is((await download(first)).status, 403)
  const second = await linkOf(id)
  const got = await download(second)
  t.deepEqual([got.status, got.headers.get('content-type'), got.bytes.equals(png)], [200, 'image/png', true])
  t.is(linkIn(second).fileName, 'scan.png')
  // A contract that was in force keeps its document.
  await expectStatus(admin('DELETE', `/api/v1/contracts/${id}`), 200)
  t.is((await download(second)).status, 200)
  const later = await contract(seconds + 3600)
  await expectStatus(put(later, png, 'scan'), 200)
  const third = await linkOf(later)
  await expectStatus(admin('DELETE', `/api/v1/contracts/${later}`), 200)
  t.is((await download(third)).status, 403)
  t.false((await readdir(folder)).includes(linkIn(third).ref))
})

test.serial('another account gets 404, and only site admins upload', async (t) => {
  const id = await contract()
  await expectStatus(put(id, pdf()), 200)
  for (const account of [org, otherOrg])
    await expectStatus(as(stranger, `/api/v1/user/contracts/${id}/document?org=${account}`), 404)
  await expectStatus(as(owner, `/api/v1/contracts/${id}/document`), 403)
  await expectStatus(
    service.send('PUT', `/api/v1/contracts/${id}/document`, {
      token: owner.token,
      body: { document: pdf().toString('base64') },
    }),
    403,
  )
  t.regex((await expectStatus(admin('GET', `/api/v1/contracts/${id}/document`), 200)).json, /\/contract-documents\//)
  await expectStatus(admin('GET', '/api/v1/contracts/999999/document'), 404)
  await expectStatus(put(999_999, pdf()), 404)
})

test.serial('a document of another type, too large, or empty changes nothing', async (t) => {
  const id = await contract()
  for (const bad of [Buffer.from('<html>'), Buffer.from('PK\x03\x04 word/document.xml')])
    t.regex((await expectStatus(put(id, bad), 422)).text, /application\/pdf/)
  await expectStatus(admin('PUT', `/api/v1/contracts/${id}/document`, { document: '' }), 422)
  const largest = Buffer.alloc(maxDocumentBytes + 1, '%PDF-1.7 ')
  t.regex((await expectStatus(put(id, largest), 422)).text, /26214400/)
  await expectStatus(put(id, Buffer.concat([largest, Buffer.alloc(300_000)])), 413)
  await expectStatus(as(owner, `/api/v1/user/contracts/${id}/document?org=${org}`), 404)
  await expectStatus(put(id, largest.subarray(0, maxDocumentBytes)), 200)
  t.is((await download(await linkOf(id))).bytes.length, maxDocumentBytes)
})

test.serial('a form uploads as well', async (t) => {
  const id = await contract()
  const form = new FormData()
  form.set('document', new Blob([new Uint8Array(pdf('form'))]), 'ignored.exe')
  form.set('fileName', 'signed.pdf')
  const answer = await fetch(`${service.baseUrl}/api/v1/contracts/${id}/document`, {
    method: 'PUT',
    headers: { authorization: `token ${service.adminToken}` },
    body: form,
  })
  t.is(answer.status, 200)
  t.deepEqual((await download(await linkOf(id))).bytes, pdf('form'))
})

test.serial('uploads and links are 503 during a store outage, and the document stays', async (t) => {
  const id = await contract()
  await expectStatus(put(id, pdf('kept')), 200)
  const url = await linkOf(id)
  const before = await events(id)
  await rename(folder, `${folder}.away`)
  await writeFile(folder, 'not a folder')
  try {
    await expectStatus(put(id, pdf('lost')), 503)
    await expectStatus(as(owner, `/api/v1/user/contracts/${id}/document?org=${org}`), 503)
    t.is((await download(url)).status, 503)
  } finally {
    await rm(folder)
    await rename(`${folder}.away`, folder)
  }
  t.deepEqual(await events(id), before)
  t.deepEqual((await download(await linkOf(id))).bytes, pdf('kept'))
})
