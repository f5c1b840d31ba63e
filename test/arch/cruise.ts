import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { ICruiseOptions, ICruiseResult, IForbiddenRuleType } from 'dependency-cruiser'
import { cruise } from 'dependency-cruiser'
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'
import extractTsConfig from 'dependency-cruiser/config-utl/extract-ts-config'

const root = fileURLToPath(new URL('../..', import.meta.url))
const configFile = `${root}.dependency-cruiser.cjs`

/** The folders of the product. */
export const productFolders = ['core', 'plugins', 'adapters', 'composition'] as const

const rules = (createRequire(import.meta.url)(configFile) as { readonly forbidden: readonly IForbiddenRuleType[] })
  .forbidden

export const ruleNames = (): readonly string[] => rules.map((rule) => rule.name ?? '')

const commentOf = (name: string): string => rules.find((rule) => rule.name === name)?.comment ?? ''

interface Violation {
  readonly rule: string
  /** The comment of the rule: what is allowed, and what to do. */
  readonly comment: string
  readonly from: string
  readonly to: string
}
export interface Cruised {
  /** Files of the product that were read. */
  readonly files: readonly string[]
  readonly violations: readonly Violation[]
}

/** Reads the product below `baseDir` and judges its imports by the rules of this repository. */
export const cruiseProduct = async (baseDir: string = root): Promise<Cruised> => {
  const options: ICruiseOptions = { ...(await extractOptions(configFile)), baseDir }
  const { output } = await cruise([...productFolders], options, undefined, {
    tsConfig: extractTsConfig(`${root}tsconfig.json`),
  })
  const result = output as ICruiseResult
  return {
    files: result.modules
      .map((module) => module.source)
      .filter((source) => productFolders.some((folder) => source.startsWith(`${folder}/`))),
    violations: result.summary.violations.map(({ rule, from, to }) => ({
      rule: rule.name,
      comment: commentOf(rule.name),
      from,
      to,
    })),
  }
}
