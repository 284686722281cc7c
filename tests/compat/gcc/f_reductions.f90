! Reductions of every intrinsic type and kind with every operator and intrinsic, of arrays, of
! array sections, and declared reductions; over teams, threads and lanes.
! compare: host
! with: parts/check.f90
! offload: -latomic
module types
  implicit none
  type range
    integer :: least = 1000000, most = -1000000
    real(8) :: total = 0
  end type
  !$omp declare target(widen_by)
contains
  pure subroutine widen_by(a, least, most, total)
    type(range), intent(inout) :: a
    integer, intent(in) :: least, most
    real(8), intent(in) :: total
    a%least = min(a%least, least)
    a%most = max(a%most, most)
    a%total = a%total + total
  end subroutine
end module

program reductions
  use omp_lib
  use check
  use types
  implicit none
  integer, parameter :: n = 200
  integer :: i, from
  logical :: initial
  initial = .true.
  !$omp target map(from: initial)
  initial = omp_is_initial_device()
  !$omp end target
  call expect_on_device(initial)
  call integers_1()
  call integers_2()
  call integers_4()
  call integers_8()
  call reals_4()
  call reals_8()
  call complexes()
  call logicals()
  call arrays()
  call own()
  call finish()
contains

  subroutine integers_1()
    integer, parameter :: k = 1
    include 'parts/integers.inc'
  end subroutine

  subroutine integers_2()
    integer, parameter :: k = 2
    include 'parts/integers.inc'
  end subroutine

  subroutine integers_4()
    integer, parameter :: k = 4
    include 'parts/integers.inc'
  end subroutine

  subroutine integers_8()
    integer, parameter :: k = 8
    include 'parts/integers.inc'
  end subroutine

  subroutine reals_4()
    integer, parameter :: k = 4
    include 'parts/reals.inc'
  end subroutine

  subroutine reals_8()
    integer, parameter :: k = 8
    include 'parts/reals.inc'
  end subroutine

  subroutine complexes()
    complex(4) :: single, factor
    complex(8) :: double, times
    single = (1, 2)
    factor = 1
    double = (1, 2)
    times = 1
    !$omp target parallel do num_threads(5) map(tofrom: single, factor) reduction(+: single) reduction(*: factor)
    do i = 1, n
      single = single + cmplx(i * 0.5, n - i)
      if (mod(i, 64) == 3) factor = factor * (1, 1)
    end do
    !$omp target teams distribute parallel do num_teams(3) map(tofrom: double, times) reduction(+: double) reduction(*: times)
    do i = 1, n
      double = double + cmplx(i * 0.5d0, n - i, 8)
      if (mod(i, 64) == 3) times = times * (1, 1)
    end do
    print '(8f12.3)', single, factor, double, times
  end subroutine

  subroutine logicals()
    logical :: all, broken, some, none, same, differ
    logical(1) :: small
    logical(8) :: large
    integer :: way
    do way = 1, 3
      all = .true.
      broken = .true.
      some = .false.
      none = .false.
      same = .true.
      differ = .false.
      small = .true.
      large = .false.
      select case (way)
      case (1)
      !$omp target parallel do num_threads(5) map(tofrom: all, broken, some, none, same, differ, small, large) &
      !$omp& reduction(.and.: all, broken, small) reduction(.or.: some, none, large) reduction(.eqv.: same) &
      !$omp& reduction(.neqv.: differ)
      do i = 1, n
        all = all .and. i > 0
        broken = broken .and. i /= 150
        some = some .or. i == 77
        none = none .or. i > n
        same = same .eqv. mod(i, 3) == 0
        differ = differ .neqv. mod(i, 7) == 0
        small = small .and. i < 199
        large = large .or. i == n
      end do
      case (2)
      !$omp target teams distribute parallel do num_teams(3) thread_limit(4) map(tofrom: all, broken, some, none, same, differ, small, large) &
      !$omp& reduction(.and.: all, broken, small) reduction(.or.: some, none, large) reduction(.eqv.: same) &
      !$omp& reduction(.neqv.: differ)
      do i = 1, n
        all = all .and. i > 0
        broken = broken .and. i /= 150
        some = some .or. i == 77
        none = none .or. i > n
        same = same .eqv. mod(i, 3) == 0
        differ = differ .neqv. mod(i, 7) == 0
        small = small .and. i < 199
        large = large .or. i == n
      end do
      case (3)
      !$omp target simd map(tofrom: all, broken, some, none, same, differ, small, large) &
      !$omp& reduction(.and.: all, broken, small) reduction(.or.: some, none, large) reduction(.eqv.: same) &
      !$omp& reduction(.neqv.: differ)
      do i = 1, n
        all = all .and. i > 0
        broken = broken .and. i /= 150
        some = some .or. i == 77
        none = none .or. i > n
        same = same .eqv. mod(i, 3) == 0
        differ = differ .neqv. mod(i, 7) == 0
        small = small .and. i < 199
        large = large .or. i == n
      end do
      end select
      print '(a, i2, 8(1x, l1))', 'logical', way, all, broken, some, none, same, differ, small, large
    end do
  end subroutine

  subroutine arrays()
    integer :: bins(0:6), table(3, 4)
    real(8) :: sums(5)
    integer, allocatable :: some(:)
    bins = 1
    table = 2
    sums = 0.5d0
    allocate (some(4), source=7)
    !$omp target parallel do num_threads(6) map(tofrom: bins, table, sums) reduction(+: bins, sums) reduction(max: table)
    do i = 1, n
      bins(mod(i, 7)) = bins(mod(i, 7)) + i
      sums(1 + mod(i, 5)) = sums(1 + mod(i, 5)) + i * 0.25d0
      table(1 + mod(i, 3), 1 + mod(i, 4)) = max(table(1 + mod(i, 3), 1 + mod(i, 4)), mod(i * 37, 101))
    end do
    !$omp target teams distribute parallel do num_teams(3) thread_limit(4) map(tofrom: bins, some) &
    !$omp& reduction(ieor: bins) reduction(+: some)
    do i = 1, n
      bins(mod(i, 7)) = ieor(bins(mod(i, 7)), i * 3)
      some(1 + mod(i, 4)) = some(1 + mod(i, 4)) + i
    end do
    print '(12(i0, 1x))', bins, table, some
    print '(5f10.2)', sums
  end subroutine

  subroutine own()
    !$omp declare reduction(widen: range: widen_by(omp_out, omp_in%least, omp_in%most, omp_in%total)) &
    !$omp& initializer(omp_priv = range())
    type(range) :: all, more
    all%least = 5
    all%most = 6
    all%total = 0.5d0
    more = all
    from = 90
    !$omp target parallel do num_threads(6) map(tofrom: all) reduction(widen: all)
    do i = 1, n
      call widen_by(all, mod(i * 37, n) - from, mod(i * 41, n) - from, i * 0.5d0)
    end do
    !$omp target teams distribute parallel do num_teams(3) thread_limit(4) map(tofrom: more) reduction(widen: more)
    do i = 1, n
      call widen_by(more, mod(i * 37, n) - from, mod(i * 41, n) - from, i * 0.5d0)
    end do
    print '(2(2(i0, 1x), f12.3))', all%least, all%most, all%total, more%least, more%most, more%total
  end subroutine
end program
