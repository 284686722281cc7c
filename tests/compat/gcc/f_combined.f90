! Every combined construct that begins with target or stands in a target region, over the same work,
! and the constructs that a device runs within one.
! compare: host
! with: parts/check.f90
! amd: no, GCC 14 ends with an internal error: collapse over a triangle
module work
  implicit none
  integer, parameter :: n = 173
  integer :: at(n), by
  !$omp declare target(spread_of)
contains
  pure integer function spread_of(i)
    integer, value :: i
    spread_of = mod(i * 7919, 1009) * (1 + mod(i, 5))
  end function

  subroutine clear()
    at = 1
    by = 5
  end subroutine

  subroutine verify(what)
    use check
    character(*), intent(in) :: what
    integer :: i, wrong, total
    wrong = 0
    total = 5
    do i = 1, n
      if (at(i) /= 1 + spread_of(i)) wrong = wrong + 1
      total = total + spread_of(i)
    end do
    call expect(what, wrong, 0)
    call expect(what, by, total)
    print '(a, 1x, i0)', what, by
    call clear()
  end subroutine
end module

program combined
  use omp_lib
  use check
  use work
  implicit none
  logical :: initial
  integer :: i, j, k, parts(3), singles, masters, criticals, told, grid(6, 5, 4), tri(7, 7), chain, tasks(16), total
  integer :: ordered(n), scan(n)
  real :: x(n), y(n)
  initial = .true.
  !$omp target map(from: initial)
  initial = omp_is_initial_device()
  !$omp end target
  call expect_on_device(initial)
  call clear()

  !$omp target parallel do map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target parallel do')
  !$omp target parallel do schedule(dynamic, 3) num_threads(5) map(tofrom: at, by) reduction(+: by)
  do i = n, 1, -1
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target parallel do dynamic')
  !$omp target parallel do simd map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target parallel do simd')
  !$omp target parallel loop map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target parallel loop')
  !$omp target simd map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target simd')
  !$omp target teams distribute map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target teams distribute')
  !$omp target teams distribute simd num_teams(3) map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target teams distribute simd')
  !$omp target teams distribute parallel do map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target teams distribute parallel do')
  !$omp target teams distribute parallel do simd num_teams(2) thread_limit(4) map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target teams distribute parallel do simd')
  !$omp target teams loop map(tofrom: at, by) reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  call verify('target teams loop')

  !$omp target map(tofrom: at, by)
  !$omp teams distribute parallel do reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('teams distribute parallel do')
  !$omp target map(tofrom: at, by)
  !$omp teams distribute parallel do simd reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('teams distribute parallel do simd')
  !$omp target map(tofrom: at, by)
  !$omp teams loop reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('teams loop')
  !$omp target map(tofrom: at, by)
  !$omp parallel do reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('parallel do')
  !$omp target map(tofrom: at, by)
  !$omp parallel loop reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('parallel loop')
  !$omp target map(tofrom: at, by)
  !$omp simd reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('simd')
  !$omp target map(tofrom: at, by)
  !$omp parallel master taskloop reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('parallel master taskloop')
  !$omp target map(tofrom: at, by)
  !$omp parallel masked taskloop simd reduction(+: by)
  do i = 1, n
    at(i) = at(i) + spread_of(i)
    by = by + spread_of(i)
  end do
  !$omp end target
  call verify('parallel masked taskloop simd')

  ! Several levels, bounds that are no constants, do concurrent, workshare.
  grid = 0
  tri = 0
  !$omp target teams distribute parallel do simd collapse(3) map(tofrom: grid)
  do k = 1, 4
    do j = 5, 1, -1
      do i = 1, 6
        grid(i, j, k) = i * 100 + j * 10 + k
      end do
    end do
  end do
  !$omp target parallel do collapse(2) map(tofrom: tri)
  do j = 1, 7
    do i = j, 7
      tri(i, j) = tri(i, j) + i * 10 + j
    end do
  end do
  print '(12(i0, 1x))', grid
  print '(7(i0, 1x))', tri
  !$omp target parallel map(from: x, y) num_threads(4)
  !$omp workshare
  x = 1.5
  y = x * 2
  forall (i = 1:n) x(i) = y(i) + i
  where (x > 100) y = 0
  !$omp end workshare
  !$omp end target parallel
  print '(2f10.2)', sum(x), sum(y)
  !$omp target map(tofrom: x)
  do concurrent (i = 1:n)
    x(i) = x(i) * 2
  end do
  !$omp end target
  print '(f10.2)', sum(x)

  parts = 0
  singles = 0
  masters = 0
  criticals = 0
  !$omp target parallel num_threads(6) map(tofrom: parts, singles, masters, criticals, ordered) private(told)
  !$omp sections
  parts(1) = 10
  !$omp section
  parts(2) = 20
  !$omp section
  parts(3) = 30
  !$omp end sections
  !$omp single
  singles = singles + 1
  told = 5
  !$omp end single copyprivate(told)
  !$omp master
  masters = masters + 1
  !$omp end master
  !$omp masked filter(3)
  masters = masters + 10
  !$omp end masked
  !$omp critical
  criticals = criticals + told
  !$omp end critical
  !$omp barrier
  !$omp do ordered schedule(dynamic)
  do i = 1, n
    !$omp ordered
    ordered(i) = i
    if (i > 1) ordered(i) = mod(ordered(i - 1) * 3 + i, 100003)
    !$omp end ordered
  end do
  !$omp end target parallel
  print '(8(i0, 1x))', parts, singles, masters, criticals, ordered(n)
  total = 0
  !$omp target map(tofrom: total, scan)
  !$omp parallel do num_threads(4) reduction(inscan, +: total)
  do i = 1, n
    total = total + spread_of(i)
    !$omp scan inclusive(total)
    scan(i) = total
  end do
  !$omp end target
  print '(12(i0, 1x))', total, scan
  total = 0
  !$omp target map(tofrom: parts)
  !$omp parallel sections num_threads(2)
  parts(1) = parts(1) + 1
  !$omp section
  parts(2) = parts(2) + 1
  !$omp end parallel sections
  !$omp end target

  chain = 1
  !$omp target parallel num_threads(4) map(tofrom: tasks, chain, total)
  !$omp single
  do i = 1, 16
    !$omp task firstprivate(i) shared(tasks)
    tasks(i) = i * i
    !$omp end task
  end do
  !$omp taskwait
  do i = 1, 6
    !$omp task depend(inout: chain) shared(chain) firstprivate(i)
    chain = chain * 3 + i
    !$omp end task
  end do
  !$omp taskgroup task_reduction(+: total)
  do i = 1, 10
    !$omp task in_reduction(+: total) firstprivate(i)
    total = total + i
    !$omp end task
  end do
  !$omp end taskgroup
  !$omp end single
  !$omp end target parallel
  print '(12(i0, 1x))', parts, tasks, chain, total

  call finish()
end program
