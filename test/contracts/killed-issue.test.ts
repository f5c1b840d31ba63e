// process: own - starts a service as a process
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { readLicense } from '../../adapters/licenses/license-signer.ts'
import { expectStatus } from '../clusters/cluster-fixture.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { plantLicenseAuthority } from '../support/plant-license-authority.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { adminLogin, startService } from '../support/service.ts'
import { runJob } from './run-job.ts'

type Send = (
  method: string,
  path: string,
  options?: { readonly token: string; readonly body?: unknown },
) => Promise<ServiceAnswer>
const clusterCount = 60
const now = Math.floor(Date.now() / 1000)
const serialIn = ({ json }: ServiceAnswer): string =>
  readLicense(Buffer.from(json.license as string, 'base64').toString(), [], undefined).serial

test('a killed issue leaves no license without a row and no repeated serial', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-issue-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const url = `sqlite:${await migratedSqlitePath()}`
  const settings = {
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DATABASE_URL: url,
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
    MOORAGE_TLS: 'false',
  }
  const first = await startService({ settings })
  await plantLicenseAuthority(first)
  const token = first.adminToken
  const terms = {
    orgOrUser: adminLogin,
    name: 'Sold',
    products: ['database'],
    features: ['db'],
    start: now - 60,
    end: now + 86_400,
    allowOffline: true,
  }
  const { id } = (
    (await expectStatus(first.send('POST', '/api/v1/contracts', { token, body: terms }), 201)).json as [{ id: number }]
  )[0]
  const clusters = Array.from({ length: clusterCount }, () => ({ cluster: randomUUID() }))
  const bound = (
    await expectStatus(first.send('POST', `/api/v1/contracts/${id}/clusters`, { token, body: clusters }), 201)
  ).json as { id: number }[]
  await first.stop()

  const issue = (send: Send, ccId: number): Promise<ServiceAnswer> =>
    send('POST', `/api/v1/contracts/${id}/clusters/${ccId}/issue-license`, { token })
  const upload = (send: Send): Promise<ServiceAnswer> =>
    send('PUT', `/api/v1/contracts/${id}/document`, {
      token,
      body: { document: Buffer.from(`%PDF-1.7\n${'x'.repeat(200_000)}`).toString('base64') },
    })
  const doomed = await startServiceProcess({ settings })
  const received = new Map<number, string>()
  // Each request that the kill cuts off fails; the kill comes at the twentieth license, when others are at every step.
  const rest = bound.values()
  const issuing = Array.from({ length: 8 }, async () => {
    for (const { id: ccId } of rest) {
      const answer = await issue(doomed.send, ccId)
      if (answer.status === 200) received.set(ccId, serialIn(answer))
      if (received.size === 20) doomed.signal('SIGKILL')
    }
  })
  const uploading = (async () => {
    for (;;) await upload(doomed.send)
  })()
  const ended = await Promise.allSettled(issuing)
  doomed.signal('SIGKILL')
  await t.throwsAsync(uploading)
  t.is(await doomed.exited, 'SIGKILL')
  await doomed.stop()
  t.true(ended.some(({ status }) => status === 'rejected') && received.size >= 20 && received.size < clusterCount)

  const database = await openPatiently(url)
  const service = await startService({ settings })
  t.teardown(async () => {
    await service.stop()
    await database.close()
  })
  const serials = async () =>
    (await database.query<{ serial: string }>((k) => k('licenses').select('serial'))).map(({ serial }) => serial)
  const kept = await serials()
  t.deepEqual(
    [...received.values()].filter((serial) => !kept.includes(serial)),
    [],
    'a license that was received has its row',
  )
  const audited = async () =>
    (
      await database.query<{ n: number }>((k) => k('audit_events').where('action', 'license.issued').count({ n: '*' }))
    )[0]?.n
  t.is(Number(await audited()), kept.length)
  const again = new Map<number, string>()
  for (const { id: ccId } of bound) again.set(ccId, serialIn(await expectStatus(issue(service.send, ccId), 200)))
  t.is(new Set(again.values()).size, clusterCount)
  for (const [ccId, serial] of received)
    t.is(again.get(ccId), serial, 'the license that was received is returned again')
  t.deepEqual((await serials()).sort(), [...again.values()].sort())
  t.is(Number(await audited()), clusterCount)

  // An hour passes for uploads that were cut off.
  await database.query((k) => k('contract_document_removals').update({ due_at: 1 }))
  await runJob(service, 'contracts.removeDocuments')
  const [{ document_ref: ref } = { document_ref: '' }] = await database.query<{ document_ref: string }>((k) =>
    k('contracts').where('id', id).select('document_ref'),
  )
  t.deepEqual(readdirSync(join(folder, 'documents')), ref === '' ? [] : [ref])
  t.deepEqual(await database.query((k) => k('contract_document_removals')), [])
})
