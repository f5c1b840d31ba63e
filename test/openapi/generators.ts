import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached } from '../support/components/cache-folder.ts'
import { sayOnStderr, withProgress } from '../support/components/progress.ts'
import { findExecutable, runCommand } from '../support/components/run-command.ts'

/** What generates clients from an OpenAPI document. Each tool is taken from this machine, else installed once. */

/** The programs that call the service with a generated client, and the versions of the packages that they need. */
export const clientSources = fileURLToPath(new URL('clients/', import.meta.url))

const oapiCodegenVersion = 'v2.8.2'
const openApiGeneratorVersion = '7.14.0'

/** The environment of a tool, without what the test run sets for its own Node processes. */
export const toolEnvironment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => {
  const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...own } = process.env
  return { ...own, ...more }
}

/** Returns the path of a command, or throws with the package that has it. */
export const commandPath = (name: string, installed: string): string => {
  const path = findExecutable(name)
  if (path !== undefined) return path
  throw new Error(
    `the command "${name}" was not found: ${installed}, or switch these tests off with --without generators`,
  )
}

/** Runs a command line that installs something, or throws with the command line. */
const install = async (
  words: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const [command = '', ...args] = words
  const line = [...Object.entries(more).map(([name, value]) => `${name}=${value}`), ...words].join(' ')
  const result = await withProgress(sayOnStderr, line, () =>
    runCommand(command, args, { cwd, environment: toolEnvironment(more) }),
  )
  if (result.status === 0) return
  throw new Error(
    `${result.stderr}${result.stdout}\nInstall it with: ${line}\nor switch these tests off with --without generators`,
  )
}

/**
 * Returns a folder of the cache with the pins of one client and what `fill` installs. It is filled again when they
 * change.
 */
const filled = (client: string, fill: (folder: string) => Promise<void>): Promise<string> => {
  const sources = join(clientSources, client)
  const pins = readdirSync(sources).filter((name) =>
    /^(?:package(?:-lock)?\.json|pom\.xml|requirements\.txt)$/.test(name),
  )
  const hash = createHash('sha256')
  for (const name of pins) hash.update(name).update(readFileSync(join(sources, name)))
  return cached(`generated-client-${client}-${hash.digest('hex').slice(0, 12)}`, async (folder) => {
    for (const name of pins) cpSync(join(sources, name), join(folder, name))
    await fill(folder)
  })
}

/** Returns a folder with the `node_modules` of a client. */
export const nodePackages = (client: 'typescript' | 'spectral'): Promise<string> =>
  filled(client, (folder) =>
    install(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], folder),
  )

/** Returns a folder with the Java libraries that a generated client needs. */
export const javaLibraries = async (): Promise<string> => {
  const maven = commandPath('mvn', 'install Maven (Debian: maven)')
  const folder = await filled('java', (into) =>
    install([maven, '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], into),
  )
  return join(folder, 'lib')
}

type PythonClient = 'authlib' | 'en16931' | 'fido2' | 'focus-validator' | 'python' | 'scim-testers'

/** Returns a folder with the Python packages that a client needs. `python` is the path of the interpreter. */
export const pythonPackages = async (
  client: PythonClient,
  python = commandPath('python3', 'install Python 3.9 or newer with pip (Debian: python3-pip)'),
): Promise<string> => {
  const folder = await filled(client, (into) =>
    install([python, '-m', 'pip', 'install', '--quiet', '--target', 'lib', '-r', 'requirements.txt'], into),
  )
  return join(folder, 'lib')
}

/** Returns the path of oapi-codegen. */
export const oapiCodegen = async (): Promise<string> => {
  const known = findExecutable('oapi-codegen', [join(homedir(), 'go', 'bin')])
  if (known !== undefined) return known
  const go = commandPath('go', 'install Go')
  const module = `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${oapiCodegenVersion}`
  return join(
    await cached(`oapi-codegen-${oapiCodegenVersion}`, (folder) =>
      install([go, 'install', module], folder, { GOBIN: folder }),
    ),
    'oapi-codegen',
  )
}

/** Returns the path of the archive of openapi-generator, for `java -jar`. */
export const openApiGenerator = async (): Promise<string> => {
  const version = openApiGeneratorVersion
  const path = join(
    homedir(),
    '.m2',
    'repository',
    'org',
    'openapitools',
    'openapi-generator-cli',
    version,
    `openapi-generator-cli-${version}.jar`,
  )
  if (existsSync(path) && statSync(path).size > 0) return path
  const maven = commandPath('mvn', 'install Maven (Debian: maven)')
  await install(
    [
      maven,
      '-q',
      '-B',
      'dependency:get',
      `-Dartifact=org.openapitools:openapi-generator-cli:${version}`,
      '-Dtransitive=false',
    ],
    homedir(),
  )
  return path
}
