import type { Clock } from '../kernel/clock.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import { mapWithin } from '../kernel/concurrency.ts'
import type { ApplicationId } from './types.ts'
import type { AuthorizationProtocol, SignInStore } from './ports.ts'

export interface ReportSignOutsDeps {
  readonly signIns: Pick<SignInStore, 'due' | 'dueApplications' | 'postpone' | 'remove'>
  readonly protocol: Pick<AuthorizationProtocol, 'reportSignOut'>
  readonly clock: Clock
}

/** Applications that get reports in one round, those at the same time, and reports to one of them. */
const applicationsOfRound = 100
const lanes = 8
const reportsOfRound = 10

/** After this many attempts, which take about a day, a report is given up. @internal */
export const mostAttempts = 13

/** Returns how long an application that took no report is left alone: 1, 2, 4, … up to 240 minutes. */
const pauseSeconds = (attempts: number): number => 60 * Math.min(2 ** attempts, 240)

/**
 * Reports to applications the sessions that have ended, each at least once. One that does not answer is left alone for a
 * while, and the others do not wait for it. Returns the number of reports.
 */
export const makeReportSignOuts = ({ signIns, protocol, clock }: ReportSignOutsDeps) => {
  const reportTo = async (applicationId: ApplicationId): Promise<number> => {
    const now = clock.now()
    const due = await signIns.due(applicationId, now, reportsOfRound)
    const taken = await Promise.all(due.map((signIn) => protocol.reportSignOut(signIn)))
    const isOver = due.filter(({ attempts }, at) => taken[at] === true || attempts + 1 >= mostAttempts)
    for (const { id } of isOver) await signIns.remove(id)
    const attempts = Math.max(0, ...due.filter((_, at) => taken[at] === false).map((signIn) => signIn.attempts))
    if (taken.includes(false)) await signIns.postpone(applicationId, now, laterBySeconds(now, pauseSeconds(attempts)))
    return taken.filter(Boolean).length
  }

  return async (signal: AbortSignal): Promise<number> => {
    let reported = 0
    while (!signal.aborted) {
      const applications = await signIns.dueApplications(clock.now(), applicationsOfRound)
      if (applications.length === 0) break
      const counts = await mapWithin(applications, lanes, async (each) => (signal.aborted ? 0 : reportTo(each)))
      reported += counts.reduce((sum, each) => sum + each, 0)
    }
    return reported
  }
}
