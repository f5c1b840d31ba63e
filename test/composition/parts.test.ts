import test from 'ava'
import type { LoadedConfig } from '../../composition/runtime/config/config.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { settingsOf } from '../../composition/runtime/config/settings.ts'
import { buildDocument } from '../../composition/runtime/http/openapi/document.ts'
import type { AnyPart } from '../../composition/part/part.ts'
import type { Composition } from '../../composition/runtime/service/compose.ts'
import { compose, isOpenPart, makeStopSequence, wiringOf } from '../../composition/runtime/service/compose.ts'
import { passingFoundation } from '../../composition/runtime/service/foundation.ts'
import { ourMigrations } from '../support/schema.ts'
import { migrationsFor } from '../../composition/runtime/migrations.ts'
import { unusedPorts } from '../../composition/runtime/wiring.ts'
import { deploymentTypes } from '../../core/kernel/deployment.ts'
import type { Log } from '../../core/kernel/log.ts'

const nothing = (): void => undefined
const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

interface Composed extends Composition {
  /** The ports that were made, in that order. */
  readonly made: readonly string[]
  /** What would be closed when the service stops. */
  readonly closed: readonly string[]
  close(): Promise<unknown>
}

const composed = async (config: LoadedConfig): Promise<Composed> => {
  const foundation = await passingFoundation()
  const stops = makeStopSequence(log)
  stops.add('database', () => foundation.database.close())
  const made: string[] = []
  const closed: string[] = []
  const composition = compose({
    config,
    foundation,
    log,
    stops: {
      add: (name, close) => {
        closed.push(name)
        stops.add(name, close)
      },
    },
    onMade: (port) => made.push(port),
  })
  return { ...composition, made, closed, close: () => stops.run() }
}

const configOf = (environment: Readonly<Record<string, string>>): Promise<LoadedConfig> => loadConfig({ environment })

const portsOf = (part: AnyPart, { boot }: Pick<Composition, 'boot'>): readonly string[] =>
  (part.provide?.(boot as Parameters<NonNullable<AnyPart['provide']>>[0]) ?? []).map(({ token }) => token.name)

for (const type of deploymentTypes)
  for (const billing of ['true', 'false']) {
    test(`a part that is closed costs nothing: ${type}, billing ${billing}`, async (t) => {
      // Neither file exists: what reads them belongs to the parts of contracts and usage.
      const loaded = await configOf({
        MOORAGE_DEPLOYMENT_TYPE: type,
        MOORAGE_BILLING_ENABLED: billing,
        ...(type === 'SelfHosted' ? { MOORAGE_CONTRACT_PRODUCTS: '/nowhere/products.json' } : {}),
      })
      const called = new Set<string>()
      const parts = loaded.parts.map((part) => ({
        ...part,
        provide: (boot: never) => {
          called.add(part.plugin.id)
          return part.provide?.(boot) ?? []
        },
      }))
      const composition = await composed({ ...loaded, parts })
      t.teardown(() => composition.close())
      const closed = loaded.parts.filter((part) => !isOpenPart(part, loaded.settings))
      t.deepEqual(
        closed.map(({ plugin }) => plugin.id),
        [
          ...(type === 'SelfHosted' ? ['contracts'] : []),
          ...(billing === 'true' ? [] : ['usage']),
          ...(billing === 'true' && type === 'VendorHosted' ? [] : ['rating']),
          ...(type.endsWith('MarketplaceDeployment') ? [] : ['metering', 'marketplace', 'marketplace-hooks']),
          'marketplace-messages',
          ...(type.endsWith('MarketplaceDeployment') ? [] : ['platform-version']),
          'reference-names',
        ],
      )
      for (const part of closed) {
        const { id } = part.plugin
        t.false(called.has(id), id)
        const ports = portsOf(part, composition)
        for (const port of [...composition.made, ...composition.closed]) t.false(ports.includes(port), port)
        const { routes, jobs, tasks, plugins } = composition.assembly
        t.false([...routes, ...jobs].some(({ pluginId }) => pluginId === id))
        t.false(tasks.some(({ kind }) => kind.startsWith(`${id}.`)))
        t.false(plugins.some((plugin) => plugin.id === id))
        t.false(composition.parts.some(({ plugin }) => plugin.id === id))
      }
      t.true(composition.made.length > 100)
      // The claims of accounts on the message bus are the same in every deployment.
      t.deepEqual(composition.boot.subjects, [{ purpose: 'usage', subject: 'usage.events' }])
    })
  }

test('the migrations of the parts are those with which tests of the database work', async (t) => {
  const config = await configOf({})
  t.deepEqual(
    (await migrationsFor(config, { dialect: 'sqlite' })).map(({ id }) => id),
    ourMigrations.map(({ id }) => id),
  )
})

const everyPart = { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_BILLING_ENABLED: 'true' }

test('listing the parts opens neither database nor connection settings', async (t) => {
  const config = await configOf(everyPart)
  const composition = await composed(config)
  t.teardown(() => composition.close())
  const untouchable = new Proxy(
    {},
    {
      get: (_, key) => {
        throw new Error(`${String(key)} was used`)
      },
    },
  )
  const boot = { ...composition.boot, database: untouchable, secretBox: untouchable, resolver: untouchable }
  const lists = config.parts.map((part) => portsOf(part, { boot: boot as never }))
  t.true(lists.flat().length > 150)
})

test('every port of a part is used by a route, a job or a startup step', async (t) => {
  const config = await configOf(everyPart)
  const composition = await composed(config)
  t.teardown(() => composition.close())
  t.deepEqual(unusedPorts(wiringOf(config, composition.boot)), [])
})

test('a part is one line of the list: without it, no trace of it is left', async (t) => {
  const loaded = await configOf(everyPart)
  const parts = loaded.parts.filter(({ plugin }) => plugin.id !== 'clouds')
  t.is(parts.length, loaded.parts.length - 1)
  const config = { ...loaded, parts, rows: settingsOf(parts), ownParts: parts.length }
  const composition = await composed(config)
  t.teardown(() => composition.close())
  const { assembly, boot, tags } = composition
  const facts = { baseUrl: '', sessionCookie: 's', deployment: boot.deployment, tags }
  const document = JSON.stringify(buildDocument(assembly.routes, facts))
  t.notRegex(document, /\/clouds\/|[cC]loudCredential/)
  t.deepEqual(
    Object.values(config.rows)
      .map(({ env }) => env)
      .filter((env) => /CLOUD_(?!\w+_METERING)\w+_ENDPOINT$/.test(env)),
    [],
  )
  const names = [
    ...composition.made,
    ...assembly.jobs.map(({ job }) => job.id),
    ...assembly.tasks.map(({ kind }) => kind),
    ...composition.parts.flatMap(({ metrics = [] }) => metrics.flatMap(({ gauges }) => Object.keys(gauges))),
  ]
  t.deepEqual(
    names.filter((name) => /^(moorage_)?clouds?[._]/.test(name)),
    [],
  )
  const whole = await composed(loaded)
  t.teardown(() => whole.close())
  t.true(whole.made.some((name) => name.startsWith('clouds.')))
  t.is(whole.assembly.plugins.length, assembly.plugins.length + 1)
})
