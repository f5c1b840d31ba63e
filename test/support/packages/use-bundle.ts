import { registerHooks } from 'node:module'

export interface Bundle {
  /** The folder of the repository, as a URL with a slash at its end. */
  readonly root: string
  /** Names of the packages that are in the bundle. */
  readonly packages: readonly string[]
  /** Those of them that ava gets too. */
  readonly forAva: readonly string[]
  /** The module of the bundle by specifier. */
  readonly modules: Readonly<Record<string, string>>
}

/**
 * Gives the modules of the repository their packages from the bundle. What a package imports in turn is in the bundle,
 * or must be as installed. Throws where a module asks in a way that the bundle does not know: its answer would be a
 * second instance of the package. Modules of the repository name each other by their files, so that nothing is searched
 * for them.
 */
export const useBundle = ({ root, packages, forAva, modules }: Bundle): void => {
  const installed = `${root}node_modules/`
  const ava = `${installed}ava/lib/`
  const [bundled, bundledForAva] = [new Set(packages), new Set(forAva)]
  const byBundle = new Map(Object.entries(modules))
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL: parent } = context
      if (parent === undefined || !parent.startsWith(root) || specifier.startsWith('node:'))
        return next(specifier, context)
      if (parent.startsWith(installed)) {
        const url = parent.startsWith(ava) && bundledForAva.has(specifier) ? byBundle.get(specifier) : undefined
        return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
      }
      if (specifier.startsWith('.')) {
        return specifier.endsWith('.ts')
          ? { url: new URL(specifier, parent).href, format: 'module-typescript', shortCircuit: true }
          : next(specifier, context)
      }
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''
      if (!bundled.has(name) || specifier.endsWith('/package.json')) return next(specifier, context)
      const url = context.conditions?.includes('require') === true ? undefined : byBundle.get(specifier)
      if (url === undefined)
        throw new Error(
          `${parent} asks for ${specifier}, which the bundle of packages does not have (test/support/packages).`,
        )
      return { url, format: 'module', shortCircuit: true }
    },
  })
}
