// process: waiting - uses components
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { releaseVersion } from '../../core/platform/version.ts'
import { findGo } from '../support/components/go-build.ts'
import { needing } from '../support/components/needing.ts'
import { sayOnStderr, withProgress } from '../support/components/progress.ts'
import { mustRun } from '../support/components/run-command.ts'
import type { TestService } from '../support/service.ts'
import { adminLogin, adminPassword, startService } from '../support/service.ts'
import {
  clientSources,
  commandPath,
  javaLibraries,
  nodePackages,
  oapiCodegen,
  openApiGenerator,
  pythonPackages,
  toolEnvironment,
} from './generators.ts'

/**
 * Clients that public generators make from the document of a service. Each is compiled whole, and calls the service.
 */

const test = needing('generators')
const minutes = 20

let service: TestService
let document: string

test.before(async () => {
  // The deployment with the most operations.
  service = await startService({
    settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_BILLING_ENABLED: 'true' },
  })
  for (const username of ['ada', 'grace']) {
    const body = { username, email: `${username}@example.com`, password: adminPassword, must_change_password: false }
    await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })
  }
  document = await (await fetch(`${service.baseUrl}/api/v1/openapi.json`)).text()
})

test.after.always(() => service?.stop())

/** What the program of each client prints. */
const expectedLines = (name: string): readonly string[] => [
  `version: ${releaseVersion}`,
  `own user: ${adminLogin}`,
  'users: 1 of 3',
  'create organization: First',
  'edit organization: Second',
  'get organization: Second',
  'create team: deployers',
  'teams: Editors, Owners, Viewers, deployers',
  'add member: 204',
  'members: ada',
  `create token: ${name} true`,
  'tokens: true',
  'delete token: 204',
  'roles: 0',
  'settings: 50',
  'name in use: 422 OrganizationNameTaken true',
  'delete organization: 204',
  'deleted organization: 404 OrganizationMissing true',
]

/** A folder with the document and the program of a client, and how to run commands in it. */
interface Workplace {
  readonly folder: string
  /** Runs a command, which must succeed, and returns what it prints. */
  run(file: string, args: readonly string[], more?: Readonly<Record<string, string>>): Promise<string>
}

const workplaceOf = (t: ExecutionContext, client: string): Workplace => {
  t.timeout(minutes * 60_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-client-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(clientSources, client), folder, { recursive: true })
  writeFileSync(join(folder, 'openapi.json'), document)
  return {
    folder,
    run: (file, args, more) =>
      withProgress(sayOnStderr, [file, ...args.slice(0, 4)].join(' '), () =>
        mustRun(file, args, { cwd: folder, environment: toolEnvironment(more), timeoutMilliseconds: minutes * 60_000 }),
      ),
  }
}

const settingsOf = (name: string): Readonly<Record<string, string>> => ({
  MOORAGE_URL: `${service.baseUrl}/api/v1`,
  MOORAGE_TOKEN: service.adminToken,
  MOORAGE_LOGIN: adminLogin,
  MOORAGE_PASSWORD: adminPassword,
  MOORAGE_NAME: name,
})

const checkLines = (t: ExecutionContext, name: string, printed: string): void => {
  t.deepEqual(printed.trimEnd().split('\n'), expectedLines(name))
}

/** Generates a client with openapi-generator into the folder `generated` of a workplace. */
const generate = async ({ run }: Workplace, language: string, properties: readonly string[]): Promise<void> => {
  const java = commandPath('java', 'install a JDK, release 11 or newer (Debian: default-jdk)')
  const output = ['-i', 'openapi.json', '-o', 'generated', `--additional-properties=${properties.join(',')}`]
  // Its Java clients import the classes of forms, which it leaves out unless it is told not to.
  const alone = [
    '--global-property',
    'skipFormModel=false,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false',
  ]
  await run(java, ['-jar', await openApiGenerator(), 'generate', '-g', language, ...output, ...alone])
}

test.serial('a tool that is missing is named, with the way to install it', (t) => {
  t.throws(() => commandPath('no-such-generator', 'install it'), {
    message:
      'the command "no-such-generator" was not found: install it, or switch these tests off with --without generators',
  })
})

test.serial('openapi-typescript and openapi-fetch', async (t) => {
  const place = workplaceOf(t, 'typescript')
  const packages = join(await nodePackages('typescript'), 'node_modules')
  symlinkSync(packages, join(place.folder, 'node_modules'))
  await place.run(process.execPath, [
    join(packages, 'openapi-typescript', 'bin', 'cli.js'),
    'openapi.json',
    '-o',
    'api.d.ts',
  ])
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024']
  await place.run(process.execPath, [
    join(packages, 'typescript', 'bin', 'tsc'),
    ...options,
    '--lib',
    'es2024,dom',
    'calls.mts',
  ])
  checkLines(t, 'by-typescript', await place.run(process.execPath, ['calls.mts'], settingsOf('by-typescript')))
})

test.serial('oapi-codegen for Go', async (t) => {
  const place = workplaceOf(t, 'go')
  mkdirSync(join(place.folder, 'oapi'))
  await place.run(await oapiCodegen(), [
    '-generate',
    'types,client',
    '-package',
    'api',
    '-o',
    join('oapi', 'api.go'),
    'openapi.json',
  ])
  // With -trimpath the compiled package is kept until the document changes.
  await place.run(findGo(), ['build', '-trimpath', '-mod=readonly', '-o', 'calls', './oapi-codegen'])
  checkLines(t, 'by-oapi-codegen', await place.run(join(place.folder, 'calls'), [], settingsOf('by-oapi-codegen')))
})

test.serial('openapi-generator for Go', async (t) => {
  const place = workplaceOf(t, 'go')
  await generate(place, 'go', ['packageName=api', 'withGoMod=false'])
  await place.run(findGo(), ['build', '-trimpath', '-mod=readonly', '-o', 'calls', './openapi-generator'])
  checkLines(t, 'by-generator-go', await place.run(join(place.folder, 'calls'), [], settingsOf('by-generator-go')))
})

test.serial('openapi-generator for Java', async (t) => {
  const place = workplaceOf(t, 'java')
  await generate(place, 'java', ['library=native'])
  const sources = join('generated', 'src', 'main', 'java')
  const files = readdirSync(join(place.folder, sources), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.java'),
  )
  writeFileSync(join(place.folder, 'files'), [...files.map((name) => join(sources, name)), 'Calls.java'].join('\n'))
  const libraries = join(await javaLibraries(), '*')
  const compiler = commandPath('javac', 'install a JDK, release 11 or newer (Debian: default-jdk)')
  await place.run(compiler, ['-nowarn', '-encoding', 'UTF-8', '-cp', libraries, '-d', 'classes', '@files'])
  const classes = ['classes', libraries].join(delimiter)
  checkLines(
    t,
    'by-generator-java',
    await place.run(commandPath('java', 'install a JDK'), ['-cp', classes, 'Calls'], settingsOf('by-generator-java')),
  )
})

test.serial('openapi-generator for Python', async (t) => {
  const place = workplaceOf(t, 'python')
  await generate(place, 'python', ['packageName=generated_client'])
  const python = commandPath('python3', 'install Python 3.9 or newer')
  await place.run(python, ['-m', 'compileall', '-q', 'generated'])
  const paths = { PYTHONPATH: [join(place.folder, 'generated'), await pythonPackages('python')].join(delimiter) }
  checkLines(
    t,
    'by-generator-python',
    await place.run(python, ['calls.py'], { ...settingsOf('by-generator-python'), ...paths }),
  )
})
