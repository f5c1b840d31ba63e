import type { TimeSlices } from '../../core/kernel/clock.ts'

/** @param sliceMilliseconds how long work continues before other work can run. */
export const makeTimeSlices = (sliceMilliseconds: number): TimeSlices => {
  const waiting: (() => void)[] = []
  let isScheduled = false

  const turn = (): void => {
    const end = performance.now() + sliceMilliseconds
    let next = waiting.shift()
    while (next !== undefined) {
      next()
      next = performance.now() < end ? waiting.shift() : undefined
    }
    isScheduled = waiting.length > 0
    if (isScheduled) setImmediate(turn)
  }

  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        waiting.push(() => {
          try {
            resolve(work())
          } catch (error) {
            reject(error as Error)
          }
        })
        if (isScheduled) return
        isScheduled = true
        setImmediate(turn)
      }),
  }
}
