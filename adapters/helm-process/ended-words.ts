import type { Failure } from '../../core/kernel/failure.ts'
import { HelmMissing, HelmRefused, HelmStopped } from '../../core/packages/helm-ports.ts'
import type { HelmOperation } from './arguments.ts'
import type { ChildEnd, EndReason } from './child.ts'
import { howToGetHelm } from './helm-finder.ts'
import { errorOf, type Redact } from './plain-words.ts'

const whyEnded: Readonly<Record<EndReason, string>> = {
  cancelled: 'because the operation was cancelled or the service stops',
  time: 'because it took too long',
  output: 'because it wrote more than can be taken',
}

const whatIsLeft = (operation: HelmOperation, wasKilled: boolean): string => {
  if (operation === 'template') return ''
  if (wasKilled) return ' It did not end when it was told to, and was killed: the release may be left pending.'
  return operation === 'rollback' || operation === 'uninstall' ? ' The release may be left pending.' : ' The release is recorded as failed.'
}

const goneCodes: readonly (string | undefined)[] = ['ENOENT', 'EACCES', 'ENOEXEC']

/** The program is gone, or is none any more; the programs that keep bounds say so by 126 and 127. */
export const isGone = ({ exitCode, stderr, error }: ChildEnd): boolean =>
  exitCode === undefined ? goneCodes.includes(error?.code) : (exitCode === 126 || exitCode === 127) && errorOf(stderr) === undefined

/** The failure that a process's end means; undefined when it succeeded. @param trouble why the cluster could not be asked, where it could not */
export const failureOf = (operation: HelmOperation, end: ChildEnd, redact: Redact, trouble?: string): Failure<'HelmMissing'> | Failure<'HelmRefused'> | Failure<'HelmStopped'> | undefined => {
  if (isGone(end)) return HelmMissing(`Helm could not be started (${end.error?.code ?? 'it is not there any more'}). ${howToGetHelm}.`)
  if (end.exitCode === undefined) return HelmStopped(`Helm could not be started (${end.error?.code ?? 'unknown'}). Try again later.`)
  // It may have done its work in the moment in which it was told to end.
  if (end.exitCode === 0 && !(end.isCutShort && operation === 'template')) return undefined
  const said = errorOf(end.stderr, redact)
  if (end.ended !== undefined) {
    const own = said === undefined || end.wasKilled ? '' : ` Helm said: ${said}`
    return HelmStopped(`Helm was ended ${whyEnded[end.ended]}.${whatIsLeft(operation, end.wasKilled)}${own}`)
  }
  if (/^(?:fatal error: |runtime: )out of memory/m.test(end.stderr)) return HelmStopped('Helm was ended because it needed more memory than it may use.')
  if (end.signal !== null) return HelmStopped(`Helm was ended from outside (${end.signal}).${whatIsLeft(operation, end.signal === 'SIGKILL')}`)
  const words = said ?? `Helm failed with code ${String(end.exitCode)} and said nothing.`
  // A client of Kubernetes shows little of what stands behind a 502.
  return HelmRefused(trouble === undefined ? words : `${words}: ${trouble}`)
}
