import { randomUUID } from 'node:crypto'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeS3Documents } from '../../adapters/clouds/s3-documents.ts'
import { makeEgressClient } from '../../adapters/outbound/egress-client.ts'
import { parseDocumentUrl } from '../../adapters/clouds/document-url.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import type { ContractDocument } from '../../core/contracts/types.ts'
import { attachment } from '../../plugins/kit/reply.ts'
import { surroundWithTraps } from '../clouds/hostile-surroundings.ts'
import { unwrap } from '../support/outcome.ts'
import { startS3Store } from './s3-store.ts'

const linkSeconds = 1800

surroundWithTraps()

const egress = makeEgressClient(makeEgressPolicy(new Set(['loopback'])), true)
const now = new Date('2026-05-01T08:00:00.000Z')
const until = new Date(now.getTime() + linkSeconds * 1000)
const seconds = (count: number): Date => new Date(now.getTime() + count * 1000)

const startStore = async () => {
  const place = { now }
  const store = await startS3Store(() => place.now)
  const parsed = parseDocumentUrl(store.url)
  if (parsed?.kind !== 's3') throw new Error('The URL of the store is not understood.')
  return {
    ...store,
    place,
    at: parsed.s3,
    documents: makeS3Documents({ place: parsed.s3, egress, dispositionOf: attachment }),
  }
}

const pdf = '%PDF-1.7\nterms\n%%EOF\n'
const newDocument = (): ContractDocument => ({
  ref: randomUUID(),
  fileName: 'Vertrag “final”.pdf',
  mediaType: 'application/pdf',
  size: pdf.length,
})

test.after.always(() => egress.close())

test('a document is stored, downloaded by a link until just before 30:00, and removed', async (t) => {
  const { documents, emulator, objects, place } = await startStore()
  try {
    const document = newDocument()
    unwrap(await documents.put(document, Buffer.from(pdf)))
    t.deepEqual(
      [...objects],
      [[`/contracts/moorage/documents/${document.ref}`, { body: pdf, type: 'application/pdf' }]],
    )
    const url = unwrap(await documents.link(document, now, until))
    for (const [after, status] of [
      [0, 200],
      [1799, 200],
      [1800, 403],
    ] as const) {
      place.now = seconds(after)
      const answer = await fetch(url)
      t.is(answer.status, status, `after ${after} seconds`)
      const text = await answer.text()
      if (status !== 200) continue
      t.is(text, pdf)
      t.is(answer.headers.get('content-type'), 'application/pdf')
      t.regex(answer.headers.get('content-disposition') ?? '', /^attachment; filename="Vertrag__final_\.pdf"/)
    }
    place.now = now
    for (const changed of [
      url.replace('X-Amz-Expires=1800', 'X-Amz-Expires=180000'),
      url.replace(document.ref, randomUUID()),
      url.replace('application%2Fpdf', 'text%2Fhtml'),
    ])
      t.is((await fetch(changed)).status, 403)
    unwrap(await documents.remove(document.ref))
    unwrap(await documents.remove(document.ref))
    t.is((await fetch(url)).status, 404)
    t.is(objects.size, 0)
    const gone = await documents.link(document, now, until)
    t.is(isLeft(gone) && gone.left.tag, 'DocumentStoreDown')
  } finally {
    await emulator.stop()
  }
})

test('a store that refuses, errs or is away is 503, without its text or the key', async (t) => {
  const { documents, emulator, at } = await startStore()
  const document = newDocument()
  const failures = async (store = documents) => [
    await store.put(document, Buffer.from(pdf)),
    await store.link(document, now, until),
    await store.remove(document.ref),
  ]
  const wrongKey = makeS3Documents({
    place: { ...at, accessKeyId: 'AKIAOTHER', secretAccessKey: at.secretAccessKey, region: 'us-east-1' },
    egress,
    dispositionOf: attachment,
  })
  const seen = [...(await failures(wrongKey))]
  emulator.instead = { status: 500, body: '<Error><Code>InternalError</Code><Message>vendor text</Message></Error>' }
  seen.push(...(await failures()))
  await emulator.stop()
  seen.push(...(await failures()))
  for (const each of seen) t.is(isLeft(each) && each.left.tag, 'DocumentStoreDown')
  t.false(/vendor text|AKIA|wJalr/.test(JSON.stringify(seen)))
  const absent = makeS3Documents({
    place: at,
    egress,
    dispositionOf: attachment,
    load: () =>
      Promise.reject(
        Object.assign(new Error("Cannot find package '@aws-sdk/client-s3'"), { code: 'ERR_MODULE_NOT_FOUND' }),
      ),
  })
  const refused = await absent.put(document, Buffer.from(pdf))
  t.true(isLeft(refused) && refused.left.message.includes('npm install @aws-sdk/client-s3'))
  const opened = await documents.open(
    { ref: document.ref, fileName: '', mediaType: '', expires: until.getTime(), signature: '' },
    now,
  )
  t.is(isLeft(opened) && opened.left.tag, 'DocumentLinkRefused')
})

test('the place of documents is read from its URL, and any other text is refused', (t) => {
  t.deepEqual(parseDocumentUrl('folder:/var/lib/documents'), { kind: 'folder', path: '/var/lib/documents' })
  const parsed = parseDocumentUrl('s3://ID:a%2Fb@s3.example.com:9000/bucket')
  t.like(parsed, {
    kind: 's3',
    s3: {
      endpoint: 'https://s3.example.com:9000',
      region: 'us-east-1',
      bucket: 'bucket',
      prefix: '',
      accessKeyId: 'ID',
    },
  })
  t.is(parsed?.kind === 's3' && parsed.s3.secretAccessKey.reveal(), 'a/b')
  for (const bad of [
    '',
    'folder:',
    's3://host/bucket',
    's3://id@host/bucket',
    's3://id:key@host',
    's3://id:key@host/B',
    's3://id:key@host/bucket?x=1',
    's3://id:key@host/bucket?tls=maybe',
    's3://id:key@host/bucket/a b',
    'https://host/bucket',
    's3://id:%E0%A4%A@host/bucket',
  ])
    t.is(parseDocumentUrl(bad), undefined, bad)
})
