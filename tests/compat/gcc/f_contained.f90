! Contained procedures, which access the variables of the enclosing procedures by a static
! chain. GCC passes the chain in a register where it does not inline them: with -O0, and in
! recursion.
! compare: host
! with: parts/check.f90
module work
  implicit none
  !$omp declare target(outer, sorted, hanoi, polynomial, matrix)
contains
  ! Changes variables of the enclosing procedure, scalars and arrays.
  integer function outer(n)
    integer, value :: n
    integer :: i, total, history(0:7)
    total = 0
    history = 0
    do i = 1, n
      call add(i)
      total = total + twice(i)
    end do
    outer = total + sum(history)
  contains
    subroutine add(k)
      integer, intent(in) :: k
      total = total + k * n
      history(mod(k, 8)) = history(mod(k, 8)) + total
    end subroutine
    integer function twice(k)
      integer, intent(in) :: k
      twice = 2 * k + total - history(mod(k, 8))
    end function
  end function

  ! Recursive ones, inside of which is the state.
  subroutine sorted(values, n, swaps)
    integer, intent(in) :: n
    integer, intent(inout) :: values(n)
    integer, intent(out) :: swaps
    swaps = 0
    call quick(1, n)
  contains
    recursive subroutine quick(low, high)
      integer, intent(in) :: low, high
      integer :: i, j, pivot
      if (low >= high) return
      pivot = values((low + high) / 2)
      i = low
      j = high
      do
        do while (values(i) < pivot)
          i = i + 1
        end do
        do while (values(j) > pivot)
          j = j - 1
        end do
        if (i >= j) exit
        call swap(i, j)
        i = i + 1
        j = j - 1
      end do
      call quick(low, i - 1)
      call quick(max(j + 1, low), high)
    end subroutine
    subroutine swap(i, j)
      integer, intent(in) :: i, j
      integer :: kept
      kept = values(i)
      values(i) = values(j)
      values(j) = kept
      swaps = swaps + 1
    end subroutine
  end subroutine

  integer(8) function hanoi(disks)
    integer, value :: disks
    integer :: pegs(3)
    integer(8) :: code
    pegs = [disks, 0, 0]
    code = 1
    call move(disks, 1, 3)
    hanoi = code * 10 + pegs(3)
  contains
    recursive subroutine move(n, from, to)
      integer, intent(in) :: n, from, to
      if (n == 0) return
      call move(n - 1, from, 6 - from - to)
      pegs(from) = pegs(from) - 1
      pegs(to) = pegs(to) + 1
      code = mod(code * 7 + from * 3 + to, 1000003_8)
      call move(n - 1, 6 - from - to, to)
    end subroutine
  end function

  real(8) function polynomial(x, degree)
    real(8), intent(in) :: x
    integer, intent(in) :: degree
    real(8) :: coefficients(0:degree)
    integer :: i
    do i = 0, degree
      coefficients(i) = i * 0.5d0 - 1
    end do
    polynomial = horner(0) + direct()
  contains
    recursive function horner(k) result(value)
      integer, intent(in) :: k
      real(8) :: value
      value = coefficients(k)
      if (k < degree) value = value + x * horner(k + 1)
    end function
    real(8) function direct()
      integer :: k
      direct = 0
      do k = degree, 0, -1
        direct = direct + coefficients(k) * power(k)
      end do
    end function
    real(8) function power(k)
      integer, intent(in) :: k
      integer :: i
      power = 1
      do i = 1, k
        power = power * x
      end do
    end function
  end function

  ! Arguments that are descriptors, optional, and results that are arrays.
  integer function matrix(n)
    integer, intent(in) :: n
    integer :: a(n, n), i, j
    do j = 1, n
      do i = 1, n
        a(i, j) = i * 3 - j
      end do
    end do
    call scale(a(:, 1))
    call scale(a(1, :), 5)
    matrix = sum(column(n)) + trace()
  contains
    subroutine scale(line, by)
      integer, intent(inout) :: line(:)
      integer, intent(in), optional :: by
      if (present(by)) then
        line = line * by
      else
        line = line * n
      end if
    end subroutine
    function column(k)
      integer, intent(in) :: k
      integer :: column(n)
      column = a(:, k) * a(k, :)
    end function
    integer function trace()
      integer :: k
      trace = 0
      do k = 1, n
        trace = trace + a(k, k)
      end do
    end function
  end function
end module

program contained
  use omp_lib
  use check
  use work
  implicit none
  integer, parameter :: many = 60
  logical :: initial
  integer :: sums(12), swaps(12), values(24), grids(6), i, k, each(many), base
  integer(8) :: moves(9)
  real(8) :: polynomials(9)
  initial = .true.
  !$omp target map(from: initial, sums, swaps, moves, polynomials, grids) map(from: values) private(i, k)
  initial = omp_is_initial_device()
  do i = 1, 12
    sums(i) = outer(i)
    do k = 1, 24
      values(k) = mod(k * 7919 + i * 31, 101)
    end do
    call sorted(values, 2 * i, swaps(i))
  end do
  do i = 1, 9
    moves(i) = hanoi(i)
    polynomials(i) = polynomial(i * 0.25d0, i)
  end do
  do i = 1, 6
    grids(i) = matrix(i)
  end do
  !$omp end target
  call expect_on_device(initial)
  print '(12(i0, 1x))', sums, swaps, values, grids
  print '(9(i0, 1x))', moves
  print '(es23.15)', polynomials

  !$omp target teams distribute parallel do num_teams(3) thread_limit(8) map(from: each)
  do i = 1, many
    each(i) = outer(mod(i, 9)) + int(hanoi(mod(i, 6))) + matrix(mod(i, 4) + 1)
  end do
  do i = 1, many
    call expect('each', each(i), outer(mod(i, 9)) + int(hanoi(mod(i, 6))) + matrix(mod(i, 4) + 1))
  end do

  ! A region in a contained procedure, with the program's variables.
  base = 3
  call region()
  call expect('base', base, 3 + 55)
  call lanes(each)
  print '(12(i0, 1x))', each
  call finish()
contains
  subroutine region()
    integer :: j
    !$omp target map(tofrom: base)
    do j = 1, 10
      base = base + j
    end do
    !$omp end target
  end subroutine
  subroutine lanes(all)
    integer, intent(out) :: all(many)
    integer :: j
    !$omp target parallel do simd map(from: all)
    do j = 1, many
      all(j) = outer(mod(j, 7)) + int(hanoi(mod(j, 5)))
    end do
  end subroutine
end program
