import { registerHooks } from 'node:module'

const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const exported =
  /^moorage\/((?:core|plugins\/kit|adapters\/sql)\/[\w/-]+|plugins\/[\w/-]+(?:\.routes|\/codecs)|composition\/(?:boot|container))$/
const sharedLibrary = /^(io-ts|fp-ts)(\/|$)/

/** This copy's own module, which runs from sources without a build, and from a build. */
const ownModule = (specifier: string): string | undefined => {
  const path = exported.exec(specifier)?.[1]
  return path === undefined ? undefined : new URL(`../${path}${ending}`, import.meta.url).href
}

const isNotFound = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'

let isShared = false

/**
 * Lets a deployer's plugin, in whatever folder it lies, import `moorage/...` from the copy that runs, as package.json
 * exports it, and the libraries that its interface speaks, unless the plugin brings its own.
 */
export const shareOurModules = (): void => {
  if (isShared) return
  isShared = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = ownModule(specifier)
      if (own !== undefined) return next(own, context)
      try {
        return next(specifier, context)
      } catch (cause) {
        if (!isNotFound(cause) || !sharedLibrary.test(specifier)) throw cause
        return next(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}
