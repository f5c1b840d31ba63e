import test from 'ava'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { makeCollectUsage } from '../../core/rating/sinks/collect.ts'
import { SinkStorePort, SinkUnitOfWorkPort, UsageSinksPort } from '../../core/rating/sinks/ports.ts'
import { makeSendUsage } from '../../core/rating/sinks/send.ts'
import { MonthStorePort } from '../../core/usage/months/ports.ts'
import { BilledUsePort } from '../../core/usage/overview-ports.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { sample as contracts } from '../contracts/sample.ts'
import { accountIds } from '../organizations/sample.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import {
  api,
  asAdmin,
  customerDetails,
  issuerDetails,
  monthOfUse,
  plantMonth,
  setUpBilling,
} from './billing-fixture.ts'

/** From a price book to a paid invoice and a credit note, by HTTP. */

let service: PopulatedService
let send: ReturnType<typeof asAdmin>
let contractId = 0
let ownerId = 0
let alice = ''
const org = 'harbour'

test.before(async () => {
  service = await startPopulatedService()
  send = asAdmin(service)
  contractId = service.of(contracts).contractId
  ownerId = accountIds(service.fixture)[0] as number
  alice = await service.tokenFor('alice')
  await setUpBilling(service, { org, contractId, issuer: 'north' })
})
test.after.always(() => service?.stop())

const july = 202607 as MonthKey
const plant = (month: MonthKey, cores: number, gib: number, revision = 1) =>
  plantMonth(service, ownerId, monthOfUse(month, [{ contractId, cores, gib }]), revision)
const draft = async (month: string) => (await send('POST', `/invoices?org=${org}`, { month })).invoices
const step = (id: number, name: string, body?: object) => send('POST', `/invoices/${id}/${name}?org=${org}`, body)
const status = async (method: string, path: string, body?: object, token = service.adminToken) =>
  (await service.send(method, `${api}${path}`, { token, ...(body === undefined ? {} : { body }) })).status
const amounts = (invoice: { lines: readonly { priceID: string; net: number }[] }) =>
  invoice.lines.map(({ priceID, net }) => [priceID, net])

test.serial('a final month becomes a draft, is issued with a number, sent and paid', async (t) => {
  await plant(july, 12, 30)
  t.is(await status('POST', `/invoices?org=${org}`, { month: '2026-08' }), 409)
  const [made, ...others] = await draft('2026-07')
  t.is(others.length, 0)
  t.like(made, { state: 'draft', kind: 'invoice', month: '2026-07', currency: 'EUR', account: org })
  // 10 % off: 100, 12 × 40, 10 × 2.50 + 20 × 2; support is 5 % of CPU.
  t.deepEqual(amounts(made), [
    ['fee', 9_000],
    ['cpu', 43_200],
    ['memory', 5_850],
    ['support', 2_160],
  ])
  t.is((await draft('2026-07'))[0].id, made.id)
  const added = await step(made.id, 'lines', {
    contractID: contractId,
    description: 'Setup',
    amount: 10_000,
    reason: 'once',
  })
  t.is(added.net, 70_210)
  t.is((await draft('2026-07'))[0].net, 70_210)
  const seen = (await service.send('GET', `${api}/invoices?org=${org}`, { token: alice })).json
  t.false(seen.some(({ id }: { id: number }) => id === made.id))
  t.is(await status('GET', `/invoices/${made.id}?org=${org}`, undefined, alice), 404)
  const issued = await step(made.id, 'issue')
  t.like(issued, { state: 'issued', number: 'MO-000001', net: 70_210, tax: 13_340, gross: 83_550 })
  t.like(issued.buyer, { legalName: 'Acme & Söhne AG' })
  t.is(await status('POST', `/invoices/${made.id}/issue?org=${org}`), 409)
  t.is(await status('DELETE', `/invoices/${made.id}?org=${org}`), 409)
  t.deepEqual(await draft('2026-07'), [])
  t.is((await step(made.id, 'send')).state, 'sent')
  t.like(await step(made.id, 'pay', { reference: 'transfer 4711' }), {
    state: 'paid',
    paymentReference: 'transfer 4711',
  })
  t.is(await status('POST', `/invoices/${made.id}/void?org=${org}`, { reason: 'no' }), 409)
  const own = (await service.send('GET', `${api}/invoices/${made.id}?org=${org}`, { token: alice })).json
  t.like(own, { number: 'MO-000001', state: 'paid' })
  const actions = service.rows("select action from audit_events where object_type = 'invoice' order by id")
  t.deepEqual(
    actions.map(({ action }) => action),
    ['invoice.drafted', 'invoice.changed', 'invoice.issued', 'invoice.sent', 'invoice.paid'],
  )
})

test.serial('a new revision of an invoiced month is drafted as its differences', async (t) => {
  await plant(july, 10, 30, 2)
  const [credit] = await draft('2026-07')
  t.like(credit, { kind: 'credit-note', revision: 2, net: 7_560 })
  t.deepEqual(amounts(credit), [
    ['cpu', 7_200],
    ['support', 360],
  ])
  t.regex(credit.lines[0].reason, /Revision 2/)
  t.like(await step(credit.id, 'issue'), { number: 'MO-000002', state: 'issued' })
  await plant(july, 11, 30, 3)
  const [more] = await draft('2026-07')
  t.like(more, { kind: 'invoice', net: 3_780 })
  await step(more.id, 'issue')
  t.deepEqual(await draft('2026-07'), [])
})

test.serial('an invoice is credited up to its lines whatever the later revisions', async (t) => {
  const august = 202608 as MonthKey
  await plant(august, 1, 0)
  const [made] = await draft('2026-08')
  const { id } = await step(made.id, 'issue')
  t.is(
    await status('POST', `/invoices/${id}/credit-notes?org=${org}`, {
      reason: 'x',
      lines: [{ line: 2, amount: 9_999 }],
    }),
    422,
  )
  t.is(await status('POST', `/invoices/${id}/credit-notes?org=${org}`, { reason: 'x', lines: [{ line: 9 }] }), 422)
  const note = await step(id, 'credit-notes', { reason: 'outage', lines: [{ line: 2, amount: 1_000 }] })
  t.like(note, { kind: 'credit-note', correctsInvoiceID: id, net: 1_000 })
  t.like(await step(note.id, 'issue'), { correctsNumber: made.number ?? 'MO-000004', tax: 190 })
  t.is((await step(id, 'credit-notes', { reason: 'all' })).net, made.net - 1_000)
  // Both of them count: what is credited would be given back twice.
  t.is(await status('POST', `/invoices/${id}/void?org=${org}`, { reason: 'x' }), 409)
  await plant(august, 1, 0, 2)
  t.deepEqual(await draft('2026-08'), [])
})

test.serial('a void invoice keeps its number, and its month is drafted again', async (t) => {
  await plant(202609 as MonthKey, 2, 0)
  const [made] = await draft('2026-09')
  const issued = await step(made.id, 'issue')
  t.like(await step(issued.id, 'void', { reason: 'wrong buyer' }), { state: 'void', number: issued.number })
  const [again] = await draft('2026-09')
  t.not(again.id, issued.id)
  t.is(again.net, issued.net)
})

test.serial('a draft of an earlier revision is not issued', async (t) => {
  const october = 202610 as MonthKey
  await plant(october, 4, 0)
  const [made] = await draft('2026-10')
  await plant(october, 5, 0, 2)
  t.is(await status('POST', `/invoices/${made.id}/issue?org=${org}`), 409)
  await draft('2026-10')
  t.like(await step(made.id, 'issue'), { state: 'issued', revision: 2 })
})

test.serial('a draft that is made again keeps only lines by hand if the month is credited', async (t) => {
  const march = 202703 as MonthKey
  await plant(march, 4, 0)
  const [first] = await draft('2027-03')
  await step(first.id, 'issue')
  await plant(march, 5, 0, 2)
  const [more] = await draft('2027-03')
  const byHand = { contractID: contractId, description: 'Setup', amount: 500, reason: 'ordered' }
  await step(more.id, 'lines', byHand)
  await plant(march, 3, 0, 3)
  const [credit] = await draft('2027-03')
  t.like(credit, { kind: 'credit-note', net: 3_780 })
  const kept = (await service.send('GET', `${api}/invoices/${more.id}?org=${org}`, { token: service.adminToken })).json
  t.like(kept, { state: 'draft', net: 500 })
  t.deepEqual(amounts(kept), [['', 500]])
  t.is(await status('POST', `/invoices/${more.id}/lines?org=${org}`, { ...byHand, amount: 2 ** 53 - 1 }), 422)
  t.is(await status('POST', `/invoices/${more.id}/lines?org=${org}`, { ...byHand, amount: -1000 }), 201)
  t.is(await status('POST', `/invoices/${more.id}/issue?org=${org}`), 422)
  await send('DELETE', `/invoices/${more.id}?org=${org}`)
})

test.serial('prices of an invoiced month stay, and later months get new ones', async (t) => {
  const version = { prices: [{ id: 'fee', description: 'Fee', model: 'flat', amount: '1' }] }
  const [book] = await send('GET', '/price-books')
  t.is(await status('POST', `/price-books/${book.id}/versions`, { from: '2026-07', ...version }), 409)
  t.is(await status('POST', `/price-books/${book.id}/versions`, { from: '2027-04', ...version }), 201)
  t.is(await status('PUT', `/contracts/${contractId}/prices`, { from: '2026-07', priceBookID: book.id }), 409)
  t.is(await status('PUT', `/contracts/${contractId}/prices`, { from: '2027-04', priceBookID: 999 }), 422)
  t.is(await status('POST', '/price-books', { name: 'x', currency: 'XAU', issuer: 'north' }), 422)
  t.is(await status('POST', '/price-books', { name: 'x', currency: 'EUR', issuer: 'south' }), 422)
  t.is(await status('POST', '/price-books', { name: book.name, currency: 'EUR', issuer: 'north' }), 422)
  const entry = { from: '2027-05', priceBookID: book.id, discountPercent: '5', commitment: '7' }
  t.is(await status('PUT', `/contracts/${contractId}/prices`, entry), 200)
  t.like((await send('GET', `/contracts/${contractId}/prices`)).at(-1), entry)
  t.like((await send('GET', `/price-books/${book.id}/versions`)).at(-1), {
    number: 2,
    from: '2027-04',
    prices: [{ ...version.prices[0], use: 'all', included: '0' }],
  })
  const shown = async (month: string) =>
    (await service.send('GET', `${api}/prices?org=${org}&month=${month}`, { token: alice })).json[0]
  t.like(await shown('2026-09'), { contractID: contractId, currency: 'EUR', version: { number: 1 } })
  t.like(await shown('2027-04'), { version: { number: 2 } })
  t.is((await shown('2026-01')).version, undefined)
})

test.serial('billing details and issuers that are sent back change nothing', async (t) => {
  const changes = () =>
    service.rows("select * from audit_events where action in ('billing_details.changed', 'invoice_issuer.changed')")
  const before = changes().length
  await send('PUT', `/customer?org=${org}`, await send('GET', `/customer?org=${org}`))
  await send('PUT', '/issuers/north', (await send('GET', '/issuers'))[0])
  t.is(changes().length, before)
  const details = { ...customerDetails, taxCategory: 'AE', taxPercent: '0' }
  t.is(await status('PUT', `/customer?org=${org}`, details), 422)
  for (const wrong of [{ taxPercent: '101' }, { spendLimit: { currency: 'EUR', amount: 0 } }])
    t.is(await status('PUT', `/customer?org=${org}`, { ...customerDetails, ...wrong }), 422)
  t.is(await status('PUT', '/issuers/north', { ...issuerDetails, numberPrefix: '../<b>' }), 422)
  await send('PUT', `/customer?org=${org}`, { ...details, taxReason: 'Reverse charge' })
  t.is(changes().length, before + 1)
  await send('PUT', `/customer?org=${org}`, customerDetails)
})

test.serial('files of an invoice have its amounts', async (t) => {
  const [newest] = (await service.send('GET', `${api}/invoices?org=${org}`, { token: alice })).json.filter(
    ({ number }: { number: string }) => number === 'MO-000001',
  )
  const file = async (format: string) =>
    service.send('GET', `${api}/invoices/${newest.id}/file?org=${org}&format=${format}`, { token: alice })
  const xml = await file('xml')
  t.regex(xml.text, /<cbc:PayableAmount currencyID="EUR">835\.50<\/cbc:PayableAmount>/)
  t.regex(xml.text, /<cbc:RegistrationName>Acme &amp; Söhne AG<\/cbc:RegistrationName>/)
  const csv = (await file('csv')).text.trim().split('\r\n').slice(1)
  const cents = csv.map((row) => Number(row.split(',').at(-3)?.replace('.', '')))
  t.is(
    cents.reduce((sum, each) => sum + each, 0),
    70_210,
  )
  t.is((await file('pdf')).text.slice(0, 5), '%PDF-')
})

test.serial('an export in FOCUS has the costs of the issued invoices', async (t) => {
  const read = async (path: string, token: string) =>
    (await service.send('GET', `${api}/focus/${path}`, { token })).text.trim().split('\r\n')
  const [head, ...rows] = await read(`2026-07?org=${org}`, alice)
  t.is(head?.split(',')[0], 'BilledCost')
  const billed = rows.map((row) => Math.round(Number(row.split(',')[0]) * 100))
  // Net and tax of the invoice, less the credit note, and the invoice of the last revision.
  t.is(
    billed.reduce((sum, each) => sum + each, 0),
    70_210 + 13_340 - (7_560 + 1_436) + (3_780 + 718),
  )
  t.deepEqual(await read('2026-07/all', service.adminToken), [head, ...rows])
  t.is(await status('GET', '/focus/2026-07/all', undefined, alice), 403)
})

test.serial('the running month is previewed', async (t) => {
  const preview = (await service.send('GET', `${api}/preview?org=${org}`, { token: alice })).json
  t.is(preview.totals.length, 1)
  t.like(preview.totals[0], { issuer: 'north', currency: 'EUR' })
  t.deepEqual(preview.contractsWithoutPrices, [])
})

test.serial('parallel issues of one issuer give numbers without gaps', async (t) => {
  const before = (await send('GET', '/issuers'))[0].nextNumber
  const months = Array.from({ length: 20 }, (_, i) => (202_800 + (i % 12) + 1 + (i > 11 ? 100 : 0)) as MonthKey)
  for (const month of months) await plant(month, 1, 0)
  const drafts: number[] = []
  for (const month of months) {
    const text = String(month)
    drafts.push((await draft(`${text.slice(0, 4)}-${text.slice(4)}`))[0].id)
  }
  const issued = await Promise.all(drafts.map((id) => step(id, 'issue')))
  t.deepEqual(
    issued.map(({ number }) => number).sort(),
    drafts.map((_, i) => `MO-${String(before + i).padStart(6, '0')}`),
  )
})

test.serial('a billing engine is configured, and what waits for it is listed with the reason', async (t) => {
  const { container } = service.running
  const engine = { kind: 'openmeter', address: 'http://127.0.0.1:9/', from: '2029-08', enabled: true }
  t.is(await status('PUT', '/sinks/meter', engine), 422)
  t.is(await status('PUT', '/sinks/meter', { ...engine, key: 'k1', address: 'https://a:b@example.com' }), 422)
  const made = await send('PUT', '/sinks/meter', { ...engine, key: 'k1' })
  t.like(made, { name: 'meter', address: 'http://127.0.0.1:9', lastError: '', pending: 0 })
  t.is(await status('PUT', '/sinks/meter', { ...engine, kind: 'lago' }), 422)
  t.is(await status('PUT', '/sinks/meter', { ...engine, address: 'https://elsewhere.example' }), 422)
  t.false(JSON.stringify([made, ...service.rows('select * from rating_sinks')]).includes('k1'))
  const deps = {
    clock: container.resolve(ClockPort),
    engines: container.resolve(UsageSinksPort),
    log: { warn: () => undefined, error: () => undefined } as never,
    months: container.resolve(MonthStorePort),
    secretBox: container.resolve(SecretBoxPort),
    sinks: container.resolve(SinkStorePort),
    unitOfWork: container.resolve(SinkUnitOfWorkPort),
    use: container.resolve(BilledUsePort),
    onFailure: (_sink: string, _month: object, error: unknown) => {
      throw error
    },
  }
  const { signal } = new AbortController()
  await makeCollectUsage(deps)(makeOwnCall(container.resolve(EntropyPort))('test', signal))
  const [event, ...others] = await send('GET', '/sinks/meter/events')
  t.is(others.length, 0)
  t.like(event, { account: org, month: '2029-08', measure: 'cpu', use: 'prod', value: '1.000', state: 'unmapped' })
  t.is(await status('GET', `/sinks/meter/customer?org=${org}`), 404)
  t.is(await status('PUT', `/sinks/meter/customer?org=${org}`, { externalID: 'x' }, alice), 403)
  await send('PUT', `/sinks/meter/customer?org=${org}`, { externalID: 'harbour-1' })
  t.deepEqual(await send('GET', `/sinks/meter/customer?org=${org}`), { externalID: 'harbour-1' })
  await makeSendUsage(deps)(signal)
  const listed = (await send('GET', '/sinks')).find(({ name }: { name: string }) => name === 'meter')
  t.like(listed, { pending: 1, unmapped: 0, failures: 1 })
  t.regex(listed.lastError, /127\.0\.0\.1/)
  t.is(await status('POST', `/sinks/meter/events/${event.id}/resolve`, { as: 'sent' }), 409)
  t.is(await status('POST', '/sinks/meter/events/999999/resolve', { as: 'sent' }), 404)
})
