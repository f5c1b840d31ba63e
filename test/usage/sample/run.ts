import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLeft } from 'fp-ts/lib/Either.js'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { laterByMonths, monthEnd, monthOf, monthStart, monthText } from '../../../core/usage/month.ts'
import { CloseMonthPort } from '../../../core/usage/months/close.ts'
import { UsageReportStorePort } from '../../../core/usage/reports/ports.ts'
import type { MonthKey, UnixSeconds } from '../../../core/usage/types.ts'
import { adminPassword, startService, type TestService } from '../../support/service.ts'
import type { SampleArguments } from './arguments.ts'
import { parseSampleArguments, sampleHelpText } from './arguments.ts'
import { addClusters, addContracts, reportEvents } from './fill.ts'
import { sampleVendor, type SampleCustomer } from './vendor.ts'

const isTerminal = process.stderr.isTTY

/** Progress on one line of a terminal, or on lines of its own for each fourth part. */
const showProgress = (text: string, done: number, of: number): void => {
  if (isTerminal) process.stderr.write(`\r  ${text}: ${done} of ${of}${done === of ? '\n' : ''}`)
  else if (done === of || Math.floor((done * 4) / of) !== Math.floor(((done - 1) * 4) / of))
    process.stderr.write(`  ${text}: ${done} of ${of}\n`)
}
const say = (line: string): void => void process.stderr.write(`${line}\n`)

process.exit(await main(process.argv.slice(2)))

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseSampleArguments(args)
  if (parsed.kind === 'help') {
    process.stdout.write(sampleHelpText)
    return 0
  }
  if (parsed.kind === 'refused') {
    say(parsed.reason)
    return 2
  }
  const folder = resolve(parsed.run.folder)
  if ((await stat(folder).catch(() => undefined)) !== undefined) {
    say(`${folder} exists. Remove it, or choose another with --folder.`)
    return 2
  }
  await mkdir(folder, { recursive: true })
  return runIn(folder, parsed.run)
}

async function runIn(folder: string, run: SampleArguments): Promise<number> {
  const databaseUrl = run.database ?? `sqlite:${join(folder, 'moorage.sqlite')}`
  say('starting the service')
  const service = await startService({
    settings: {
      MOORAGE_DATA_DIR: folder,
      MOORAGE_DATABASE_URL: databaseUrl,
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
    },
  })
  try {
    const present = monthOf(Math.floor(Date.now() / 1000) as UnixSeconds)
    const months = Array.from({ length: run.months }, (_, n) => laterByMonths(present, n - run.months))
    const vendor = sampleVendor(
      run.seed,
      run.clusters,
      monthStart(months[0] ?? present),
      monthEnd(months.at(-1) ?? present),
    )
    const customers = await fill(service, run, months, vendor)
    const reports = await closeMonths(service, folder, months, customers)
    process.stdout.write(
      resultText(
        service,
        folder,
        databaseUrl,
        reports,
        customers[0]?.customer.login ?? '',
        months.at(-1) ?? present,
        run.serves,
      ),
    )
    if (run.serves)
      await new Promise<void>((stop) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
      })
    return 0
  } finally {
    await service.stop()
  }
}

type Customers = readonly { readonly ownerId: AccountId; readonly customer: SampleCustomer }[]

async function fill(
  service: TestService,
  { seed }: SampleArguments,
  months: readonly MonthKey[],
  vendor: readonly SampleCustomer[],
): Promise<Customers> {
  const entropy = service.running.container.resolve(EntropyPort)
  const db = await openDatabase(service.databaseUrl)
  try {
    const customers: { readonly ownerId: AccountId; readonly customer: SampleCustomer }[] = []
    for (const customer of vendor) {
      const made = await service.send('POST', '/api/v1/orgs', {
        token: service.adminToken,
        body: { username: customer.login, full_name: customer.fullName },
      })
      if (made.status !== 201) throw new Error(`the organization ${customer.login} was refused: ${made.text}`)
      const ownerId = made.json.id as AccountId
      await addClusters(db, ownerId, customer, () => entropy.uuid())
      await addContracts(db, ownerId, customer)
      customers.push({ ownerId, customer })
    }
    say(`${customers.length} customers`)
    const events = await reportEvents({ db, seed, months, customers, onProgress: showProgress })
    say(`${events} events`)
    return customers
  } finally {
    await db.close()
  }
}

/** Closes all months, all but the last as final, and writes the reports. Returns their paths. */
async function closeMonths(
  { running }: TestService,
  folder: string,
  months: readonly MonthKey[],
  customers: Customers,
): Promise<readonly string[]> {
  const { container } = running
  const [close, reports, ownCall] = [
    container.resolve(CloseMonthPort),
    container.resolve(UsageReportStorePort),
    makeOwnCall(container.resolve(EntropyPort)),
  ]
  const paths: string[] = []
  const all = months.length * customers.length
  for (const month of months) {
    for (const { ownerId, customer } of customers) {
      const closeIt = () =>
        close(ownCall('usage-sample'), { ownerId, month, as: month === months.at(-1) ? 'provisional' : 'final' })
      let closed = await closeIt()
      // The job of the service closes months too.
      while (isLeft(closed) && closed.left.tag === 'UsageMonthBusy') {
        await sleep(100)
        closed = await closeIt()
      }
      if (isLeft(closed)) throw new Error(closed.left.message)
      const report = await reports.find(ownerId, month)
      if (report === undefined) throw new Error(`the report of ${customer.login} for ${monthText(month)} is missing`)
      const path = join(folder, `${customer.login}-${monthText(month)}.pdf`)
      await pipeline(reports.pieces(report), createWriteStream(path))
      paths.push(path)
      showProgress('months closed', paths.length, all)
    }
  }
  return paths
}

function resultText(
  { baseUrl, adminToken }: TestService,
  folder: string,
  databaseUrl: string,
  reports: readonly string[],
  login: string,
  month: MonthKey,
  isServing: boolean,
): string {
  const views = `/api/v1/dashboard/summary/${monthText(month).replace('-', '/')}`
  const lines = [
    `${reports.length} reports in ${folder}. Look at one of each script:`,
    ...reports.filter((path) => path.endsWith(`${monthText(month)}.pdf`)).map((path) => `  ${path}`),
    '',
    ...(isServing
      ? [
          `The service runs at ${baseUrl} until Ctrl-C. Its site admin is "admin" with the password "${adminPassword}".`,
          `  curl -H 'Authorization: Bearer ${adminToken}' '${baseUrl}${views}/usage-report/products/dbProduct/views/clusters-usage-view?org=${login}'`,
          `  curl -H 'Authorization: Bearer ${adminToken}' '${baseUrl}${views}/usage-report/products/dbProduct/views/objects-usage-view?org=${login}&format=csv'`,
          `  curl -OJ -H 'Authorization: Bearer ${adminToken}' '${baseUrl}${views}/download?org=${login}'`,
        ]
      : [`Database and keys are there too. With --serve the service stays, and shows JSON and CSV.`]),
    'Commands on these data, such as `npx moorage usage explain --help`, need',
    `  export MOORAGE_DATA_DIR='${folder}' MOORAGE_DATABASE_URL='${databaseUrl}' MOORAGE_DEPLOYMENT_TYPE=VendorHosted MOORAGE_BILLING_ENABLED=true`,
  ]
  return `${lines.join('\n')}\n`
}
