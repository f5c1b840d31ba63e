import { randomUUID } from 'node:crypto'
import test from 'ava'
import type { CommandContext } from '../../../composition/part/command-context.ts'
import { runCommandLine } from '../../../composition/moorage.ts'
import { laterByMonths, monthEnd, monthOf, monthStart, monthText } from '../../../core/usage/month.ts'
import type { UnixSeconds } from '../../../core/usage/types.ts'
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { api, asAdmin, setUpBilling } from '../../rating/billing-fixture.ts'
import {
  admin,
  alerts,
  bound,
  database,
  day,
  environment,
  heard,
  iso,
  issue,
  mails,
  namespaceUID,
  nowSeconds,
  object,
  org,
  owner,
  quota,
  report,
  service,
  updateConsumption,
} from './months-quota.fixture.ts'

test.serial('a used up contract issues no license and mails each threshold once', async (t) => {
  const contract = await bound(quota)
  const started = Math.max(monthStart(monthOf(nowSeconds as UnixSeconds)), nowSeconds - 3600)
  // Three times the quota for the rest of the month, or for an hour at its beginning.
  const seconds = nowSeconds - started
  await report(contract.uid, [heard(started), heard(nowSeconds)])
  await updateConsumption()
  await expectStatus(issue(contract), 200)
  t.deepEqual(await alerts(contract.id), [])
  const before = await mails()
  const perMonth = monthEnd(monthOf(nowSeconds as UnixSeconds)) - monthStart(monthOf(nowSeconds as UnixSeconds))
  await report(contract.uid, [
    object(randomUUID(), started, Math.min(1_000_000_000, Math.ceil((3000 * perMonth) / Math.max(seconds, 1)))),
  ])
  await updateConsumption()
  await updateConsumption()
  const refused = await issue(contract)
  t.is(refused.status, 403, refused.text)
  t.regex(refused.json.message as string, /quota/)
  t.deepEqual(await alerts(contract.id), [50, 100])
  const running = await expectStatus(admin('GET', `/api/v1/dashboard/summary/running-month?org=${org}`), 200)
  const figures = running.json.contracts.find(({ contractID }: { contractID: number }) => contractID === contract.id)
  t.is(running.json.month, monthText(monthOf(nowSeconds as UnixSeconds)))
  t.is(figures.quota.billed, figures.billed.cpu)
  t.is(Math.round(figures.quota.excess * 1000), Math.round(figures.billed.cpu * 1000) - 1000)
  t.true(figures.quota.excess > 0)
  t.is((await mails()) - before, 3, 'one mail for each person, about the highest threshold')
})

/** Prices all CPU of a contract at 2 EUR for each core-month, and previews the month. */
const priced = async (contractId: number) => {
  const send = asAdmin(service)
  await setUpBilling(service, { org, contractId, issuer: 'north', from: '2026-01' })
  const { id } = await send('POST', '/price-books', { name: 'all', currency: 'EUR', issuer: 'north' })
  const cpu = { id: 'cpu', description: 'CPU', model: 'per-unit', product: 'dbProduct', measure: 'cpu', amount: '2' }
  await send('POST', `/price-books/${id}/versions`, { from: '2026-01', prices: [cpu] })
  await send('PUT', `/contracts/${contractId}/prices`, { from: '2026-01', priceBookID: id })
  return expectStatus(admin('GET', `${api}/preview?org=${org}`), 200)
}

test.serial('the running month shows reported usage before the hourly job', async (t) => {
  const contract = await bound({ ...quota, enabled: false })
  const started = Math.max(monthStart(monthOf(nowSeconds as UnixSeconds)), nowSeconds - 3600)
  await report(contract.uid, [heard(started), heard(nowSeconds), object(randomUUID(), started, 1_000_000_000)])
  const figures = async () => {
    const { json } = await expectStatus(admin('GET', `/api/v1/dashboard/summary/running-month?org=${org}`), 200)
    return json.contracts.find(({ contractID }: { contractID: number }) => contractID === contract.id)
  }
  const read = await figures()
  t.true(read.billed.cpu > 0)
  t.is(read.quota, null)
  t.deepEqual(
    await database.query((k) => k('usage_contract_months').where('contract_id', contract.id).select('*')),
    [],
    'a read stores nothing',
  )
  t.deepEqual(await figures(), read, 'it is computed once in five minutes, and says when')
  const { json: preview } = await priced(contract.id)
  const [line] = preview.totals[0].lines
  const secondsTo = (at: string): number => Math.floor(Date.parse(at) / 1000) - started
  const share = secondsTo(preview.computedAt) / secondsTo(read.computedAt)
  t.true(Math.abs(Number(line.quantity) - read.billed.cpu * share) < 0.002, `${line.quantity} after ${read.billed.cpu}`)
  t.is(line.net, Math.round(Number(line.quantity) * 200))
  await updateConsumption()
  t.true(Date.parse((await figures()).computedAt) > Date.parse(read.computedAt), 'the newer figures are shown')
})

test.serial('without the flag a contract issues beyond its quota', async (t) => {
  const contract = await bound({
    ...quota,
    metric: 'memory_gib_month',
    limit: 0.0001,
    disableLicenseOnLimitReached: false,
  })
  const started = Math.max(monthStart(monthOf(nowSeconds as UnixSeconds)), nowSeconds - 3600)
  await report(contract.uid, [heard(started), heard(nowSeconds), object(randomUUID(), started, 1)])
  await updateConsumption()
  t.true((await alerts(contract.id)).includes(100))
  await expectStatus(issue(contract), 200)
})

test.serial('the commands close, explain and reopen a month', async (t) => {
  const contract = await bound({ ...quota, enabled: false })
  const month = laterByMonths(monthOf(nowSeconds as UnixSeconds), -1)
  const created = monthEnd(month) - 3600
  const uid = randomUUID()
  await report(contract.uid, [
    heard(created),
    object(uid, created, 2000),
    {
      id: randomUUID(),
      type: 'object.deleted',
      time: iso(created + 1800),
      product: 'dbProduct',
      group: 'kubedb.example',
      kind: 'Postgres',
      uid,
      namespace: 'shop',
      namespaceUID,
      name: 'orders',
      generation: 2,
      createdAt: iso(created),
    },
  ])
  const runWith = async (context: Partial<CommandContext>, words: readonly string[]) => {
    const [out, err] = [[] as string[], [] as string[]]
    const code = await runCommandLine(['usage', ...words], {
      environment,
      print: (text) => void out.push(text),
      say: (text) => void err.push(text),
      ...context,
    })
    return { code, out: out.join('\n'), err: err.join('\n') }
  }
  const run = (...words: readonly string[]) => runWith({}, words)
  const place = ['--org', org, '--month', monthText(month)]
  const reopenedTooEarly = await run('reopen', ...place)
  t.is(reopenedTooEarly.code, 1)
  const said: string[] = []
  let interrupt = (): void => undefined
  const onInterrupt = (listener: () => void) => {
    interrupt = listener
    return () => undefined
  }
  const interrupted = await runWith({ onInterrupt, say: (text) => void (said.push(text), interrupt()) }, [
    'close',
    ...place,
    '--final',
  ])
  t.is(interrupted.code, 130, said.join('\n'))
  t.deepEqual([interrupted.out, said.length > 1, said.at(-1)], ['', true, 'Interrupted. The month has not changed.'])
  // The lease of the month is free at once.
  const closed = await run('close', ...place, '--final')
  t.is(closed.code, 0, closed.err)
  t.regex(closed.out, /^Revision 1 of \d{4}-\d{2} is final: 1 objects\.$/m)
  t.regex((await run('close', ...place)).out, /nothing has changed/)
  const explained = await run(
    'explain',
    ...place,
    '--product',
    'dbProduct',
    '--cluster',
    contract.uid,
    '--contract',
    String(contract.id),
  )
  t.is(explained.code, 0, explained.err)
  t.true(explained.out.includes(`Sum: ${2000 * 1800} milli-core-seconds`), explained.out)
  t.is(explained.err, '')
  await report(contract.uid, [
    {
      ...object(uid, created, 100_000),
      id: randomUUID(),
      type: 'object.resized',
      time: iso(created + 600),
      generation: 3,
    },
  ])
  const later = await run('explain', ...place, '--product', 'dbProduct', '--cluster', contract.uid)
  t.true(later.out.includes(`Sum: ${2000 * 600 + 100_000 * 1200} milli-core-seconds`), later.out)
  t.regex(later.err, /^The cluster has other figures in revision 1/)
  t.like(
    JSON.parse((await run('explain', ...place, '--product', 'dbProduct', '--cluster', contract.uid, '--json')).out),
    { hasChanged: true },
  )
  const reopened = await run('reopen', ...place, '--json')
  t.like(JSON.parse(reopened.out), { revision: 2, status: 'provisional', isNew: true })
  const summary = `/api/v1/dashboard/summary`
  const ofMonth = `${summary}/${monthText(month).replace('-', '/')}`
  const made = await expectStatus(admin('POST', `${ofMonth}/close?org=${org}&status=final`), 200)
  t.like(made.json, { month: monthText(month), revision: 2, status: 'final', isNew: true })
  t.like((await expectStatus(admin('POST', `${ofMonth}/reopen?org=${org}`), 200)).json, {
    revision: 3,
    status: 'provisional',
    isNew: true,
  })
  t.is((await admin('POST', `${ofMonth}/reopen?org=${org}`)).status, 400)
  t.is((await service.send('POST', `${ofMonth}/close?org=${org}`, { token: owner.token })).status, 403)
  t.is((await admin('POST', `${summary}/2026/13/close?org=${org}`)).status, 400)
  t.is((await admin('POST', `${ofMonth}/close?org=${org}&status=done`)).status, 400)
  const generated = await expectStatus(admin('GET', `${summary}/generated-months?org=${org}`), 200)
  t.like(generated.json.months.at(-1), { month: monthText(month), revision: 3, status: 'provisional' })
  const customers = await expectStatus(admin('GET', `${ofMonth}/customers`), 200)
  const view = await expectStatus(
    admin('GET', `${ofMonth}/usage-report/products/dbProduct/views/clusters-usage-view?org=${org}&view_type=billable`),
    200,
  )
  const { clusterHours: _, ...totals } = view.json.totals
  t.like(
    customers.json.customers.find(({ account }: { account: string }) => account === org),
    { revision: 3, status: 'provisional', products: [{ product: 'dbProduct', ...totals }] },
  )
  t.is((await service.send('GET', `${ofMonth}/customers`, { token: owner.token })).status, 403)
  t.is((await run('close', '--org', 'nobody', '--month', monthText(month))).code, 1)
  t.is((await run('close', '--org', org, '--month', '2026-13')).code, 2)
  t.regex(
    (
      await run(
        'explain',
        ...place,
        '--product',
        'dbProduct',
        '--cluster',
        contract.uid,
        '--contract',
        '0',
        '--class',
        'trial',
      )
    ).out,
    /What was used in it:\n {2}nothing\nSum: 0 milli-core-seconds/,
  )
  t.is((await run('explain', ...place, '--product', 'x', '--cluster', contract.uid)).code, 2)
  for (const no of ['', '1e3', '-1', '1.5'])
    t.is(
      (await run('explain', ...place, '--product', 'dbProduct', '--cluster', contract.uid, `--contract=${no}`)).code,
      2,
      no,
    )
  const actions = await database.query<{ readonly action: string }>((k) =>
    k('audit_events').where('object_type', 'usage-month').orderBy('id').select('action'),
  )
  t.deepEqual(
    actions.map(({ action }) => action),
    ['usage-month.final', 'usage-month.reopened', 'usage-month.final', 'usage-month.reopened'],
  )
})

test.serial('people, site admins and owners cannot report usage', async (t) => {
  const contract = await bound({ ...quota, enabled: false })
  const count = async () => (await database.query((k) => k('usage_changes').select('object_id'))).length
  const before = await count()
  for (const token of [owner.token, service.adminToken]) {
    const refused = await service.send('POST', `/api/v1/usage/${org}/events`, {
      token,
      body: { clusterUID: contract.uid, events: [object(randomUUID(), nowSeconds - 60, 1000)] },
    })
    t.is(refused.status, 403, refused.text)
    t.regex(refused.json.message as string, /robot account/)
    t.is((await service.send('GET', `/api/v1/usage/${org}/bus-credentials`, { token })).status, 403)
  }
  t.is(await count(), before)
})

test.serial('changed terms count from their instant, and earlier use keeps its terms', async (t) => {
  const contract = await bound({ ...quota, enabled: false })
  const at = `/api/v1/contracts/${contract.id}`
  const month = laterByMonths(monthOf(nowSeconds as UnixSeconds), -1)
  const place = [
    '--org',
    org,
    '--month',
    monthText(month),
    '--product',
    'dbProduct',
    '--cluster',
    contract.uid,
    '--json',
  ] as const
  const explain = async () => {
    const out: string[] = []
    await runCommandLine(['usage', 'explain', ...place], {
      environment,
      print: (text) => void out.push(text),
      say: () => undefined,
    })
    return JSON.parse(out.join('\n')) as {
      segments: { from: number; to: number; contractId: number; termsNumber: number }[]
      terms: { contractID: number; number: number; features: string[] }[]
    }
  }
  const reopen = () =>
    runCommandLine(['usage', 'reopen', '--org', org, '--month', monthText(month)], {
      environment,
      print: () => undefined,
      say: () => undefined,
    })
  const close = () =>
    runCommandLine(['usage', 'close', '--org', org, '--month', monthText(month), '--final'], {
      environment,
      print: () => undefined,
      say: () => undefined,
    })
  const [begin, end] = [monthEnd(month) - 7200, monthEnd(month)]
  await report(contract.uid, [heard(begin), heard(end - 1), object(randomUUID(), begin, 1000)])
  await expectStatus(admin('PUT', at, { product: 'vault', features: ['vault-enterprise'] }), 200)
  t.like((await expectStatus(admin('GET', at), 200)).json, {
    product: 'vault',
    features: ['vault-enterprise'],
    terms: 2,
  })
  await close()
  t.is(await reopen(), 0)
  const [segment, ...others] = (await explain()).segments
  t.deepEqual(
    [segment?.from, segment?.to, segment?.contractId, segment?.termsNumber, others.length],
    [begin, end, contract.id, 1, 0],
  )
  // For the past only if that is said: the half of the two hours from the middle on.
  const middle = begin + 3600
  for (const [body, words] of [
    [{ features: ['vault-basic'], effectiveFrom: middle }, /in the past/],
    [{ features: ['vault-basic'], reopen: true }, /effectiveFrom/],
    [{ name: 'Renamed', effectiveFrom: nowSeconds + day }, /count at once/],
    [{ features: ['vault-basic'], effectiveFrom: -5, reopen: true }, /effectiveFrom/],
    [{ start: -5 }, /negative/],
  ] as const) {
    const refused = await admin('PUT', at, body)
    t.is(refused.status, 422, refused.text)
    t.regex(refused.json.message as string, words)
  }
  await expectStatus(
    admin('PUT', at, { features: ['database-basic'], product: 'database', effectiveFrom: middle, reopen: true }),
    200,
  )
  await close()
  t.is(await reopen(), 0)
  const explained = await explain()
  t.deepEqual(
    explained.segments.map((each) => [each.from, each.to, each.contractId, each.termsNumber]),
    [
      [begin, middle, contract.id, 1],
      [middle, end, contract.id, 3],
    ],
  )
  t.deepEqual(
    explained.terms.map(({ number, features }) => [number, features]),
    [
      [1, ['database-enterprise']],
      [3, ['database-basic']],
    ],
  )
  const listed = (
    await expectStatus(
      service.send('GET', `/api/v1/user/contracts/${contract.id}/terms?org=${org}`, { token: owner.token }),
      200,
    )
  ).json as { number: number; effectiveFrom: number; superseded: boolean }[]
  t.deepEqual(
    listed.map(({ number, effectiveFrom, superseded }) => [number, effectiveFrom === middle, superseded]),
    [
      [1, false, false],
      [2, false, false],
      [3, true, false],
    ],
  )
  const history = (await expectStatus(admin('GET', `${at}/audit`), 200)).json as {
    event: string
    terms?: number
    effectiveFrom?: number
  }[]
  t.like(
    history.findLast(({ event }) => event === 'contract.updated'),
    { terms: 3, effectiveFrom: middle },
  )
  // The deletion.
  await expectStatus(admin('DELETE', at), 200)
  t.like((await expectStatus(admin('GET', at), 200)).json, { state: 'revoked', revoked: true })
  await expectStatus(issue(contract), 405)
  await close()
  await reopen()
  t.deepEqual((await explain()).segments, explained.segments)
  t.is(((await expectStatus(admin('GET', `${at}/clusters`), 200)).json as unknown[]).length, 1)
})
